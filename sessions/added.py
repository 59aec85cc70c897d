"""Folders of runs trained elsewhere that this workspace shows, in place and read-only."""

from collections.abc import Container
from pathlib import Path

from rlhf.runlog import write_json

from .errors import UsageError, writing
from .paths import Workspace
from .runfiles import RUN_MARKS, Problem, is_run, read_object


def folders(workspace: Workspace, problems: list[Problem] | None = None) -> list[str]:
    """The added folders, as they were added; what is wrong with the list goes to `problems`."""
    record = read_object(workspace.added, [] if problems is None else problems) or {}
    found = record.get("folders")
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def add(workspace: Workspace, folder: Path, shown: Container[Path] = ()) -> list[str]:
    """Show the run in `folder`, or the runs in its sub-folders. Raises UsageError.

    `shown` are the resolved folders of runs that are listed already: it needs one that is not.
    """
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise UsageError(f"{folder} is not a folder", str(folder))
    runs = runs_in(place)
    if not runs:
        what = f"none of {', '.join(RUN_MARKS)}"
        raise UsageError(f"{folder} holds no run: {what} in it or one level down", str(folder))
    if all(run.resolve() in shown for run in runs):
        raise UsageError(f"every run in {folder} is shown already", str(folder))
    return _write(workspace, [*dict.fromkeys([*folders(workspace), str(place)])])


def runs_in(place: Path) -> list[Path]:
    """The run in a folder, or the runs in its sub-folders."""
    return [place] if is_run(place) else [child for child in place.iterdir() if is_run(child)]


def holder(workspace: Workspace, run: Path) -> str | None:
    """The added folder by which a run is shown; None if it is not by one."""
    known, place = folders(workspace), run.resolve()
    return next((str(p) for p in (place, place.parent) if str(p) in known), None)


def forget(workspace: Workspace, folder: Path) -> tuple[str, list[str]]:
    """Show it no longer: its name in the list, and what stays. Raises UsageError if not added."""
    gone, before = str(folder.expanduser().resolve()), folders(workspace)
    if gone not in before:
        known = f"added are {', '.join(before)}" if before else "no folder was added"
        raise UsageError(f"{folder} was not added here", str(folder), known)
    return gone, _write(workspace, [item for item in before if item != gone])


def _write(workspace: Workspace, places: list[str]) -> list[str]:
    with writing(workspace.added):
        workspace.root.mkdir(parents=True, exist_ok=True)
        write_json(workspace.added, {"format": 1, "folders": places})
    return places
