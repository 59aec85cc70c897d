"""`rlhf-tui scaffold`: a submission folder made from a run, and what is still empty in one."""

from pathlib import Path
from typing import Any

import click

from ..acting import acting, emit, find, json_option
from ..exits import CommandError, Exit
from ..place import Place

_FOLDER = click.Path(path_type=Path)


@click.command(short_help="Make a submission folder from a run.")
@click.argument("run", required=False)
@click.argument("folder", required=False, type=_FOLDER, metavar="DIR")
@click.option("--check", type=_FOLDER, metavar="DIR", help="Only name what is empty in DIR.")
@json_option
@click.pass_obj
def scaffold(
    place: Place, run: str | None, folder: Path | None, check: Path | None, as_json: bool
) -> int:
    """Make DIR from RUN: checkpoint, answer.json, summary.md, evidence; name what is left empty.

    A DIR of one word, without a slash, is made in the workspace's submissions. With --check the
    exit code is 1 while something is empty.
    """
    if check is not None:
        return _report(check, _checked(place, check), as_json, Exit.NO)
    if run is None or folder is None:
        raise CommandError(Exit.USAGE, "name a run and a new folder", fix="see scaffold --help")
    target = _target(place, folder)
    return _report(target, _made(place, run, target), as_json, Exit.OK)


def _target(place: Place, folder: Path) -> Path:
    from sessions.paths import Workspace

    inside = Workspace(place.workspace.absolute()).submissions
    return inside / folder if folder.parent == Path() else folder.expanduser().absolute()


def _checked(place: Place, folder: Path) -> list[str]:
    from sessions.unfilled import still_empty

    with acting(place, changes=False):
        return still_empty(folder)


def _made(place: Place, name: str, target: Path) -> list[str]:
    from sessions import meta
    from sessions.scaffold import scaffold as make

    with acting(place) as workspace:
        found = find(place, name)
        listing = place.catalogue().scan()
        runs = {run["id"]: run for run in listing.runs}
        if found.id not in runs:
            raise CommandError(Exit.USAGE, f"{found.id} is no run")
        decided = {run["name"]: run for run in listing.runs if run["source"] == "shipped"}
        standing: dict[str, Any] = {
            name: meta.read(workspace, run["id"]).decision
            for name, run in decided.items()
            if run["verdict"] and not run["verdict_stale"]
        }
        return make(place.checked_task(), runs[found.id], found.folder, target, standing)


def _report(folder: Path, empty: list[str], as_json: bool, code_if_empty: Exit) -> int:
    said = f"still empty ({len(empty)}):" if empty else "nothing is empty"
    lines = [str(folder), said, *(f"  {name}" for name in empty)]
    emit(as_json, {"folder": str(folder), "empty": empty}, lines)
    return code_if_empty if empty else Exit.OK
