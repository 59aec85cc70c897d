"""Room on disk: what takes it, and giving back what nobody needs."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import CHECKPOINTS_NAME

from .errors import writing
from .evidence import state_of
from .paths import Workspace
from .trash import thrown_away

CACHE, CHECKPOINTS = "cache", "checkpoints"  # kinds of what can be removed
ABANDONED_S = 3600.0  # a draft this old is what a killed launch left


@dataclass(frozen=True)
class Item:
    """Something that can be removed: what it is, where, and its size in bytes."""

    kind: str  # trash | draft | cache | checkpoints
    path: Path
    size: int


def size_of(path: Path) -> int:
    """Bytes of a file or of everything under a folder; links count as themselves."""
    try:
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        with os.scandir(path) as found:
            return sum(size_of(Path(entry.path)) for entry in found)
    except OSError:
        return 0


def usage(workspace: Workspace) -> dict[str, int]:
    """Bytes of each part of the workspace, of its cache, and free on its disk."""
    parts = {name: getattr(workspace, name) for name in ("runs", "jobs", "grades", "trash")}
    sizes = {name: size_of(path) for name, path in parts.items()}
    return {**sizes, "cache": size_of(workspace.cache), "free": free(workspace.root)}


def free(path: Path) -> int:
    """Bytes free where `path` is, or will be."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def run_sizes(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """Per run, its bytes and those of its checkpoints, the largest first."""
    folders = [path for path in _folders(workspace.runs) if not path.name.startswith(".")]
    sizes = {path.name: (size_of(path), size_of(path / CHECKPOINTS_NAME)) for path in folders}
    return dict(sorted(sizes.items(), key=lambda item: -item[1][0]))


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.glob("*") if path.is_dir()) if place.is_dir() else []


def removable(workspace: Workspace) -> list[Item]:
    """What nobody needs, the checkpoints of finished runs among it."""
    found = [Item("trash", path, size_of(path)) for path in thrown_away(workspace).values()]
    found += [Item("draft", path, size_of(path)) for path in _drafts(workspace)]
    if workspace.cache.is_dir():
        found.append(Item(CACHE, workspace.cache, size_of(workspace.cache)))
    paths = [run / CHECKPOINTS_NAME for run in _folders(workspace.runs) if _finished(run)]
    return found + [Item(CHECKPOINTS, path, size_of(path)) for path in paths if path.is_dir()]


def _finished(folder: Path) -> bool:
    return state_of(folder).state == "finished"


def _drafts(workspace: Workspace) -> Iterator[Path]:
    for place in (workspace.runs, workspace.jobs):
        for path in place.glob(".*.new") if place.is_dir() else ():
            if time.time() - path.stat().st_mtime > ABANDONED_S:
                yield path


def remove(items: list[Item]) -> int:
    """Remove them for good; the bytes given back. Raises SessionError naming what stays."""
    for item in items:
        with writing(item.path):
            shutil.rmtree(item.path)
    return sum(item.size for item in items)
