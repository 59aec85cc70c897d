"""Runs taken out of sight: moved to W/trash in one rename, and back in one rename."""

import os
from pathlib import Path

from . import queue
from .added import holder
from .errors import UsageError, writing
from .evidence import state_of
from .paths import Workspace
from .record import locked
from .states import LIVE


def discard(workspace: Workspace, folder: Path) -> None:
    """Move a run or job of this workspace to the trash. Raises UsageError if it is alive."""
    if folder.parent not in (workspace.runs, workspace.jobs):
        added = holder(workspace, folder)
        fix = f"rlhf-tui add --remove {added}" if added else None
        said = f"{folder.name} is not in this workspace: it is only shown, not kept here"
        raise UsageError(said, fix=fix)
    with locked(folder):  # nothing claims or resumes it meanwhile
        state = state_of(folder).state
        if state in LIVE or state == "unknown" and (folder / "run.json").exists():
            fix = f"rlhf-tui stop {folder.name}" if state in LIVE else None
            raise UsageError(f"{folder.name} is {state}: it cannot go to the trash", fix=fix)
        with writing(workspace.trash):
            place = workspace.trash / folder.parent.name
            place.mkdir(parents=True, exist_ok=True)
            os.rename(folder, place / folder.name)
    queue.remove(workspace, folder.name)


def thrown_away(workspace: Workspace) -> dict[str, Path]:
    """What lies in the trash, by id."""
    folders = [*workspace.trash.glob("runs/*"), *workspace.trash.glob("jobs/*")]
    return {folder.name: folder for folder in sorted(folders) if folder.is_dir()}


def restore(workspace: Workspace, identifier: str) -> Path:
    """Bring one back to where it was; its folder. Raises UsageError if it is not there."""
    found = thrown_away(workspace).get(identifier)
    if found is None:
        raise UsageError(f"{identifier!r} is not in the trash", fix="rlhf-tui restore lists it")
    home = workspace.root / found.parent.name / identifier
    if home.exists():
        raise UsageError(f"{home} exists: {identifier} cannot come back", str(home))
    with writing(home):
        home.parent.mkdir(parents=True, exist_ok=True)
        os.rename(found, home)
    return home
