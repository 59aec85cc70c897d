"""Wrapper files that a launch can use, and their sources, safe to show. No Textual here."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from .render import clean

if TYPE_CHECKING:
    from .place import Place


def wrappers(place: "Place") -> list[tuple[str, Path]]:
    """Wrapper files: the shipped ones, the workspace's, those of earlier runs. For a worker."""
    from sessions.paths import Workspace, shipped_wrappers

    workspace = Workspace(place.workspace.absolute())
    found = [("shipped", path) for path in sorted(shipped_wrappers().glob("*.py"))]
    found += [("workspace", path) for path in sorted(workspace.wrappers.glob("*.py"))]
    found += [(path.parent.name, path) for path in sorted(workspace.runs.glob("*/wrapper.py"))]
    return [(where, path) for where, path in found if path.name != "__init__.py"]


MOST_SOURCE = 20_000  # bytes of a wrapper that are shown


def source_lines(path: Path) -> list[str]:
    """A wrapper's source, safe to show; why not, if it cannot be read. For a worker."""
    try:
        data = _beginning(path.expanduser())
    except (OSError, ValueError, RuntimeError) as error:
        return [f"cannot be read: {getattr(error, 'strerror', None) or error}"]
    lines = data[:MOST_SOURCE].decode(errors="replace").splitlines()
    return [clean(line.expandtabs(4)) for line in lines] + ["..."] * (len(data) > MOST_SOURCE)


def _beginning(path: Path) -> bytes:
    """The first bytes of a regular file: a pipe or a device is never waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        return os.read(handle, MOST_SOURCE + 1)
    finally:
        os.close(handle)
