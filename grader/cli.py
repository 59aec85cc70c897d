"""python -m grader: grade submissions, list grades, derive a world's truth, check the grader.

stdout is data, stderr narration. Exit codes are those of errors.Exit.
"""

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .errors import Exit, GraderError, error_document
from .part import COMPONENTS
from .printable import one_line


def narrate(line: str) -> None:
    """One line for the person watching."""
    print(one_line(line, 500), file=sys.stderr, flush=True)


class Terminated(BaseException):
    """SIGTERM or SIGHUP, which end a command as Ctrl-C does."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated


@click.group(help=__doc__.split("\n")[0] if __doc__ else None)
def program() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)


_FOLDER = click.Path(path_type=Path)
# the program that started this one in its place: it names the folder of grades and knows --job
_CALLER = os.environ.pop("GRADER_CALLER", "")
_KEPT = "Folder that keeps grades" + (" (default: the workspace's)." if _CALLER else ".")


def _of_caller(command: Callable[..., int]) -> Callable[..., int]:
    """The option that the caller handles itself, for its --help."""
    said = "In the background, by the workspace's queue."
    option = click.option("--job", is_flag=True, expose_value=False, help=said)
    return option(command) if _CALLER else command


def _legend() -> str:
    """What each part of a grade asks, for --help (\b: the lines stay as they are)."""
    lines = [
        f"  {part:4} {asks}" if part else name
        for name, parts in COMPONENTS.items()
        for part, asks in [("", ""), *parts.items()]
    ]
    return "\n".join(["\b", "Components and their parts, each scored from 0 to 1:", *lines])


@program.command("grade", epilog=_legend())
@click.argument("folders", nargs=-1, required=True, type=_FOLDER, metavar="DIR...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--out", type=_FOLDER, help="Also write the document to this file.")
@click.option("--only", default="", metavar="PARTS", help="Components or parts, by comma.")
@click.option("--no-diagnostic", is_flag=True, help="Leave out diagnosis.")
@click.option("--fixture", type=_FOLDER, help="Grade against this build, or its derived truth.")
@click.option("--min", "minimum", type=float, help="Exit 1 below this reward.")
@click.option("--allow-unprotected", is_flag=True, help="Run the diagnostic even without walls.")
@click.option("--grades", type=_FOLDER, help=_KEPT)
@click.option("--brief", is_flag=True, help="A table without evidence.")
@_of_caller
def grade_command(**options: Any) -> int:
    """Grade submission folders."""
    from .commands import grade_folders

    return grade_folders(**options)


@program.command("grades")
@click.argument("identities", nargs=-1, metavar="[ID...]")
@click.option("--grades", type=_FOLDER, required=not _CALLER, help=_KEPT)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def grades_command(**options: Any) -> int:
    """List kept grades, or compare those named, side by side."""
    from .listing import list_grades

    return list_grades(**options)


@program.command("digest")
@click.argument("folder", type=_FOLDER, metavar="DIR")
def digest_command(folder: Path) -> int:
    """Print the sha256 by which a grade names what it graded."""
    from .listing import digest

    return digest(folder)


@program.command("derive")
@click.option("--build", type=_FOLDER, help="A build of another world (default: the shipped one).")
@click.option("--out", type=_FOLDER, help="Where the truth goes (default: inside the build).")
@click.option("--check", is_flag=True, help="Derive the tables again and compare.")
def derive_command(**options: Any) -> int:
    """Derive the truth of a build: held-out RMs, strong reference, tables."""
    from .commands import derive

    return derive(**options)


@program.command("selfcheck")
@click.option("--keep", type=_FOLDER, help="Keep the submissions in this folder.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--quick", is_flag=True, help="Only the wrong stories: no training.")
def selfcheck_command(**options: Any) -> int:
    """Grade the reference solution and the wrong stories, and compare with what is known."""
    from .selfcheck import selfcheck

    return selfcheck(**options)


@program.command("solve")
@click.argument("name")
@click.argument("out", type=_FOLDER)
@click.option("--task", type=_FOLDER, help="An exported task folder (default: the shipped world).")
def solve_command(**options: Any) -> int:
    """Write the submission of a known solution into a folder."""
    from .commands import solve

    return solve(**options)


def _fail(as_json: bool, kind: str, message: str, path: str | None, fix: str | None) -> None:
    if as_json:
        print(json.dumps(error_document(kind, message, path, fix)))
    else:
        narrate(f"error: {message}" + (f" ({fix})" if fix else ""))


def _guarded(run: Callable[[], int | None], as_json: bool) -> int:
    """The exit code of a command, whatever happens in it."""
    try:
        return run() or Exit.OK
    except click.UsageError as error:
        _fail(as_json, "usage", error.format_message(), None, "see --help")
        return Exit.USAGE
    except click.exceptions.Exit as error:
        return error.exit_code
    except GraderError as error:
        _fail(as_json, error.kind, str(error), error.path, error.fix)
        return error.exit
    except Terminated:
        _fail(as_json, "interrupted", "terminated; nothing is left running", None, None)
        return Exit.TERMINATED
    except (KeyboardInterrupt, click.Abort):
        _fail(as_json, "interrupted", "interrupted; nothing is left running", None, None)
        return Exit.INTERRUPTED
    except OSError as error:
        _fail(as_json, "system", f"{error}", None, None)
        return Exit.CANNOT_RUN


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a letter shows its code
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    run = lambda: program.main(  # noqa: E731
        arguments, prog_name=_CALLER or "python -m grader", standalone_mode=False
    )
    return int(_guarded(run, "--json" in arguments))
