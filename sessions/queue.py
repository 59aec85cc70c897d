"""The waiting line: one small file a run in W/queue, kept until the run has ended.

An entry says only where in the line its run stands; what it is stands in the run's record.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import write_json

from .errors import UsageError, writing
from .paths import Workspace

PAUSED = "paused"
SUFFIX = ".json"
_LOCK = ".lock"
_FORGOTTEN_S = 60.0  # an entry whose run never appeared in this time was a launch that died


@dataclass(frozen=True, order=True)
class Entry:
    """A run's place in line; lower goes first."""

    position: float
    id: str
    folder: Path


@contextmanager
def locked(workspace: Workspace) -> Iterator[None]:
    """Hold the line still. Raises SessionError if the workspace cannot be written."""
    with writing(workspace.queue):
        workspace.queue.mkdir(parents=True, exist_ok=True)
        handle = os.open(workspace.queue / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def end_of_line(workspace: Workspace) -> float:
    """The position after the last entry."""
    positions = [e.position for e in entries(workspace) if e.position < float("inf")]
    return max(positions, default=0.0) + 1.0


def add(workspace: Workspace, identifier: str, position: float) -> None:
    """Give a run or job a place in the line."""
    with locked(workspace):
        _write(workspace, identifier, position)


def see_to(workspace: Workspace, identifier: str, position: float) -> None:
    """Add the entry again if it was taken for forgotten while its run was being made."""
    if not workspace.entry(identifier).exists():
        add(workspace, identifier, position)


def _write(workspace: Workspace, identifier: str, position: float) -> None:
    path = workspace.entry(identifier)
    with writing(path):
        write_json(path, {"format": 1, "position": position})


def remove(workspace: Workspace, identifier: str) -> None:
    """Take an entry out, if it is there."""
    with writing(workspace.queue):
        workspace.entry(identifier).unlink(missing_ok=True)


def entries(workspace: Workspace) -> list[Entry]:
    """The line, first to last. An entry that cannot be read goes last; forgotten ones go."""
    try:
        names = os.listdir(workspace.queue)
    except OSError:
        return []
    found = [_entry(workspace, name.removesuffix(SUFFIX)) for name in names if _is_entry(name)]
    return sorted(entry for entry in found if entry is not None)


def _is_entry(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".")


def _entry(workspace: Workspace, identifier: str) -> Entry | None:
    path = workspace.entry(identifier)
    try:
        position = float(json.loads(path.read_bytes())["position"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        position = float("inf")
    job = workspace.jobs / identifier
    folder = job if job.is_dir() else workspace.runs / identifier
    if not folder.is_dir() and _forgotten(path):
        with suppress(OSError):
            path.unlink()
        return None
    return Entry(position, identifier, folder)


def _forgotten(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _FORGOTTEN_S
    except OSError:
        return False


def move(workspace: Workspace, identifier: str, to: int) -> None:
    """Give a waiting run place `to` (1 is the front) among the others. Raises UsageError."""
    with locked(workspace):
        line = entries(workspace)
        moving = [entry for entry in line if entry.id == identifier]
        if not moving:
            raise UsageError(f"{identifier} is not in the queue")
        others = [entry for entry in line if entry.id != identifier]
        spot = min(max(to - 1, 0), len(others))
        for number, entry in enumerate([*others[:spot], *moving, *others[spot:]], start=1):
            _write(workspace, entry.id, float(number))


def pause(workspace: Workspace, on: bool) -> None:
    """Let no further run start (what runs goes on), or let them start again."""
    with writing(workspace.queue):
        workspace.queue.mkdir(parents=True, exist_ok=True)
        if on:
            (workspace.queue / PAUSED).touch()
        else:
            (workspace.queue / PAUSED).unlink(missing_ok=True)


def paused(workspace: Workspace) -> bool:
    """Whether the line stands still."""
    return (workspace.queue / PAUSED).exists()
