"""`rlhf-tui`: the dashboard, or one command. Loads only what the command at hand needs."""

import importlib
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from .exits import CommandError, Exit, Terminated
from .place import Place

COMMANDS = {  # command: the module in tui.commands that holds it
    "runs": "runs",
    "show": "inspect",
    "compare": "inspect",
    "launch": "launch",
    "clone": "launch",
    "wait": "follow",
    "stop": "manage",
    "resume": "manage",
    "replay": "launch",
    "logs": "follow",
    "jobs": "follow",
    "rm": "manage",
    "restore": "manage",
    "note": "manage",
    "tag": "manage",
    "add": "manage",
    "prune": "manage",
    "tails": "tails",
    "samples": "samples",
    "probe": "samples",
    "frontier": "frontier",
    "wrapper": "checks",
    "grade": "grade",
    "grades": "grade",
    "scaffold": "scaffold",
    "decide": "decide",
    "doctor": "checks",
}


class _Lazy(click.Group):
    """A group that imports a command's module only to run it or to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tui.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=_Lazy, invoke_without_command=True)
@click.option("--workspace", metavar="DIR", type=click.Path(path_type=Path), help="Your runs.")
@click.option("--task", metavar="DIR", type=click.Path(path_type=Path), help="The task folder.")
@click.option(
    "--runs",
    "extra",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Also show the runs in DIR (repeatable).",
)
@click.option("--read-only", is_flag=True, help="Start, stop and write nothing.")
@click.version_option(package_name="rlhf-tui")
@click.pass_context
def cli(
    ctx: click.Context,
    workspace: Path | None,
    task: Path | None,
    extra: tuple[Path, ...],
    read_only: bool,
) -> None:
    """Watch, compare and judge RLHF runs; without a command, in a dashboard."""
    ctx.obj = Place.of(workspace, task, extra, read_only)
    if ctx.invoked_subcommand is None:
        from .dashboard import run_dashboard

        sys.exit(run_dashboard(ctx.obj))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    words = sys.argv[1:] if arguments is None else arguments
    for sent in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sent) is signal.SIG_DFL:
            signal.signal(sent, _terminate)
    sys.exit(_run(words))


def _terminate(_number: int, _frame: Any) -> None:
    raise Terminated


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        # not cli.main(): it would turn a closed pipe into exit 1
        with cli.make_context("rlhf-tui", list(words)) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else Exit.OK
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except CommandError as error:
        return _fail(error, as_json)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "rlhf-tui"
        usage = CommandError(Exit.USAGE, error.format_message(), fix=f"see {where} --help")
        return _fail(usage, as_json)
    except click.ClickException as error:
        return _fail(CommandError(Exit.UNABLE, error.format_message()), as_json)
    except (click.Abort, KeyboardInterrupt):
        return _fail(CommandError(Exit.INTERRUPTED, "interrupted"), as_json)
    except Terminated:
        return _fail(CommandError(Exit.TERMINATED, "terminated"), as_json)
    except BrokenPipeError:
        # the reader has what it wanted; Python would complain once more when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Exit.OK
    except OSError as error:
        message = error.strerror or type(error).__name__
        return _fail(CommandError(Exit.UNABLE, message, error.filename), as_json)


def _fail(error: CommandError, as_json: bool) -> int:
    with suppress(BrokenPipeError):
        if as_json:
            print(error.document(), flush=True)
        else:
            print(error.line(), file=sys.stderr, flush=True)
    return error.code


if __name__ == "__main__":
    main()
