"""What the commands that act on runs share: finding them, asking first, and saying how it went."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from rlhf.runlog import dumps
from sessions.errors import SessionError
from sessions.ids import ID
from sessions.paths import RUN_RECORD, Workspace

from .exits import CommandError, Exit
from .place import Place

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


class Found(NamedTuple):
    """A run or job that was named: its id and its folder."""

    id: str
    folder: Path


@contextmanager
def acting(place: Place, changes: bool = True) -> Iterator[Workspace]:
    """The workspace, for a command that `changes` it or only looks; its errors become ours."""
    if changes and place.read_only:
        raise CommandError(Exit.USAGE, "nothing is changed under --read-only")
    os.environ["TASK"] = str(place.task.absolute())
    try:
        yield Workspace(place.workspace.absolute())
    except SessionError as error:
        code = Exit(error.exit_code)
        raise CommandError(code, str(error), error.path, error.fix) from error


def find(place: Place, name: str) -> Found:
    """The run or job that `name` means: id, unique prefix or folder. Raises CommandError."""
    workspace = Workspace(place.workspace.absolute())
    if ID.match(name):
        for parent in (workspace.runs, workspace.jobs):
            if (parent / name / RUN_RECORD).is_file():
                return Found(name, parent / name)
    from sessions.catalogue import find as find_run

    listing = place.catalogue().scan()
    try:
        identifier = find_run(listing, name)
    except LookupError as error:
        raise CommandError(Exit.USAGE, str(error.args[0])) from None
    return Found(identifier, listing.folders[identifier].absolute())


def find_all(place: Place, names: Iterable[str]) -> list[Found]:
    """All that are named, each once, in order. Raises CommandError if one is unknown."""
    return list(dict.fromkeys(find(place, name) for name in names))


def confirm(question: str, yes: bool) -> None:
    """Ask at the terminal, unless --yes. Raises CommandError if nobody can answer, Abort on no."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(Exit.USAGE, "without a terminal this needs --yes")
    click.confirm(question, abort=True, err=True)


def emit(as_json: bool, document: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Print the document, or the lines, made safe to show."""
    from .render import clean

    if as_json:
        print(dumps({"format": 1, **document}))
        return
    for line in lines:
        print(clean(line))


def narrate(line: str) -> None:
    """One line on stderr for the person watching."""
    from .render import clean

    print(clean(line), file=sys.stderr, flush=True)
