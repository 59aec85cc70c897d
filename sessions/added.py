"""Folders of runs trained elsewhere that this workspace shows, in place and read-only."""

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


def add(workspace: Workspace, folder: Path) -> list[str]:
    """Show the run in `folder`, or the runs in its sub-folders. Raises UsageError."""
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise UsageError(f"{folder} is not a folder", str(folder))
    if not (is_run(place) or any(is_run(child) for child in place.iterdir())):
        what = f"none of {', '.join(RUN_MARKS)}"
        raise UsageError(f"{folder} holds no run: {what} in it or one level down", str(folder))
    return _write(workspace, [*dict.fromkeys([*folders(workspace), str(place)])])


def forget(workspace: Workspace, folder: Path) -> list[str]:
    """Show it no longer; its files stay. Raises UsageError if it was not added."""
    gone, before = str(folder.expanduser().resolve()), folders(workspace)
    if gone not in before:
        raise UsageError(f"{folder} was not added here", str(folder))
    return _write(workspace, [item for item in before if item != gone])


def _write(workspace: Workspace, places: list[str]) -> list[str]:
    with writing(workspace.added):
        workspace.root.mkdir(parents=True, exist_ok=True)
        write_json(workspace.added, {"format": 1, "folders": places})
    return places
