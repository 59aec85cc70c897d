"""`rlhf-tui grade` and `rlhf-tui grades`: the grader in a process of its own.

Its stdout, stderr and exit code are passed on as they are. Grades are kept in the workspace.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from ..acting import acting, emit
from ..exits import CommandError, Exit, Terminated
from ..place import Place

_VALUED = ("--out", "--only", "--fixture", "--min", "--grades")  # a value follows
_JOB_FLAGS = ("--json", "--brief", "--no-diagnostic", "--allow-unprotected")
_ANY = {"ignore_unknown_options": True, "help_option_names": []}


def _run(command: str, place: Place, arguments: tuple[str, ...]) -> int:
    """Start `python -m grader COMMAND ARGUMENTS` and wait for its exit code.

    It has a process group of its own, so that Ctrl-C comes here alone and is passed on once.
    """
    from sessions.paths import Workspace

    kept = Workspace(place.workspace.absolute()).grades
    keep = [] if place.read_only and command == "grade" else ["--grades", str(kept)]
    started = [sys.executable, "-P", "-m", "grader", command, *keep, *arguments]
    called = {**os.environ, "GRADER_CALLER": "rlhf-tui"}  # for the usage line of --help
    child = subprocess.Popen(started, process_group=0, env=called)
    while True:
        try:
            return _code(child.wait())
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
        except Terminated:
            child.terminate()


def _code(ended: int) -> int:
    """The grader's exit code; if a signal ended it, it could not say so itself."""
    if ended >= 0:
        return ended
    if -ended in (signal.SIGINT, signal.SIGTERM):
        return 128 - ended
    from sessions.states import signal_name

    said = f"the grader was ended by {signal_name(-ended)}"
    raise CommandError(Exit.UNABLE, said, fix="is there enough memory? rlhf-tui doctor")


@click.command(context_settings=_ANY, short_help="Grade submission folders.")
@click.option("--job", is_flag=True, help="In the background, by the workspace's queue.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="DIR...")
@click.pass_obj
def grade(place: Place, job: bool, arguments: tuple[str, ...]) -> int:
    """Grade submission folders; --help lists the options. --job returns at once."""
    return _queue(place, arguments) if job else _run("grade", place, _located(place, arguments))


def _located(place: Place, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments, with bare names of submissions made folders; what is none stays."""
    from sessions.grades import locate

    def located(before: str, word: str) -> str:
        bare = not word.startswith("-") and os.sep not in word and before not in _VALUED
        folder = locate(workspace, Path(word))
        return str(folder) if bare and word and folder.is_dir() else word

    with acting(place, changes=False) as workspace:
        return tuple(map(located, ("", *arguments), arguments))


def _queue(place: Place, arguments: tuple[str, ...]) -> int:
    """One job a folder: it has a log, can be stopped, and outlives whoever asked for it."""
    from sessions.grades import KIND, remember
    from sessions.launch import launch_job
    from sessions.paths import GRADE_RECORD

    from ..launching import tell_if_paused

    flags = [word for word in arguments if word.startswith("-")]
    unknown = [flag for flag in flags if flag not in _JOB_FLAGS]
    folders = [word for word in arguments if not word.startswith("-")]
    if unknown or not folders:
        said = f"with --job there is no {unknown[0]}" if unknown else "name a submission folder"
        raise CommandError(Exit.USAGE, said, fix=f"DIR... and any of {', '.join(_JOB_FLAGS)}")
    passed = [flag for flag in flags if flag not in ("--json", "--brief")]
    with acting(place) as workspace:
        places = [remember(workspace, Path(folder)) for folder in folders]
        keep = ["--brief", "--grades", str(workspace.grades), "--out", GRADE_RECORD, *passed]
        start = [sys.executable, "-P", "-m", "grader", "grade", *keep]
        jobs = [
            launch_job(
                *(workspace, KIND, f"grade {Path(one).name}", [*start, one], place.task.absolute()),
                submission=one,
            )
            for one in places
        ]
        tell_if_paused(workspace)
    emit("--json" in flags, {"jobs": jobs}, jobs)
    return Exit.OK


@click.command(context_settings=_ANY, short_help="List and compare kept grades.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ID...]")
@click.pass_obj
def grades(place: Place, arguments: tuple[str, ...]) -> int:
    """List kept grades, or compare those named; --help lists the options."""
    return _run("grades", place, arguments)
