"""`rlhf-tui grade` and `rlhf-tui grades`: the grader in a process of its own.

Its stdout, stderr and exit code are passed on as they are. Grades are kept in the workspace.
"""

import signal
import subprocess
import sys

import click

from ..exits import Terminated
from ..place import Place

_ANY = {"ignore_unknown_options": True, "help_option_names": []}


def _run(command: str, place: Place, arguments: tuple[str, ...]) -> int:
    """Start `python -m grader COMMAND ARGUMENTS` and wait for its exit code.

    It has a process group of its own, so that Ctrl-C comes here alone and is passed on once.
    """
    from sessions.paths import Workspace

    kept = Workspace(place.workspace.absolute()).grades
    keep = [] if place.read_only and command == "grade" else ["--grades", str(kept)]
    started = [sys.executable, "-P", "-m", "grader", command, *keep, *arguments]
    child = subprocess.Popen(started, process_group=0)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
        except Terminated:
            child.terminate()


@click.command(context_settings=_ANY, short_help="Grade submission folders.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="DIR...")
@click.pass_obj
def grade(place: Place, arguments: tuple[str, ...]) -> int:
    """Grade submission folders; --help lists the options."""
    return _run("grade", place, arguments)


@click.command(context_settings=_ANY, short_help="List and compare kept grades.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ID...]")
@click.pass_obj
def grades(place: Place, arguments: tuple[str, ...]) -> int:
    """List kept grades, or compare those named; --help lists the options."""
    return _run("grades", place, arguments)
