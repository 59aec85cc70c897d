"""A private copy of a submission, taken once, so that nothing that changes later matters.

Only regular files and folders are copied: symbolic links, pipes, sockets and devices are
never opened, they are named among the problems. Sizes, counts and depth are bounded.
"""

import errno
import hashlib
import itertools
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from . import hostile
from .errors import SubmissionError

MAX_FILE = 64 << 20
MAX_TOTAL = 256 << 20
MAX_ENTRIES = 4000
MAX_DEPTH = 12
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_CHUNK = 1 << 20

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass
class Snapshot:
    """The copy at `root`: sha256 of each file by its path, and what was left out and why."""

    source: Path
    root: Path
    files: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    total: int = 0
    entries: int = 0

    @property
    def digest(self) -> str:
        """sha256 over the paths and contents of all copied files."""
        lines = (f"{digest}  {path}\n" for path, digest in sorted(self.files.items()))
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()

    def read(self, path: str, max_bytes: int) -> bytes:
        """The bytes of a copied file. Raises SubmissionError if it is not there or too big."""
        if path not in self.files:
            why = self.problems.get(path) or self.problems.get(path.partition("/")[0])
            raise SubmissionError(why or "is not there", path)
        data = (self.root / path).read_bytes()
        if len(data) > max_bytes:
            raise SubmissionError(f"has {len(data)} bytes, more than {max_bytes}", path)
        return data


def _copy_file(snapshot: Snapshot, folder: int, name: str, path: str) -> str | None:
    """Copy one file; returns why it was left out, or None."""
    handle = os.open(name, hostile.FLAGS, dir_fd=folder)
    with os.fdopen(handle, "rb") as source:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return "is not a regular file"
        room = min(MAX_FILE, MAX_TOTAL - snapshot.total)
        if before.st_size > room:
            return f"is too big: {before.st_size} bytes, at most {room}"
        digest, size = hashlib.sha256(), 0
        target = snapshot.root / path
        with open(target, "wb") as out:
            while size <= room and (chunk := source.read(_CHUNK)):
                size += len(chunk)
                digest.update(chunk)
                out.write(chunk)
        after = os.fstat(handle)
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, size):
        target.unlink()
        return "changed while it was read"
    snapshot.total += size
    snapshot.files[path] = digest.hexdigest()
    return None


def _copy_entry(snapshot: Snapshot, folder: int, name: str, path: str, depth: int) -> str | None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISREG(mode):
        return _copy_file(snapshot, folder, name, path)
    if not stat.S_ISDIR(mode):
        return "is " + _KINDS.get(stat.S_IFMT(mode), "no regular file")
    if depth >= MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} folders"
    (snapshot.root / path).mkdir()
    handle = os.open(name, hostile.FLAGS | os.O_DIRECTORY, dir_fd=folder)
    try:
        _copy_folder(snapshot, handle, path + "/", depth + 1)
    finally:
        os.close(handle)
    return None


def _names(folder: int, room: int) -> list[str] | None:
    """What a folder holds, sorted; None if that is more than `room` entries."""
    with os.scandir(folder) as listing:
        names = [entry.name for entry in itertools.islice(listing, room + 1)]
    return sorted(names) if len(names) <= room else None


def _copy_folder(snapshot: Snapshot, folder: int, prefix: str, depth: int) -> None:
    names = _names(folder, MAX_ENTRIES - snapshot.entries)
    if names is None:
        snapshot.problems[prefix.rstrip("/") or "."] = f"holds more than {MAX_ENTRIES} entries"
        return
    snapshot.entries += len(names)
    for name in names:
        path = prefix + name
        try:
            problem = _copy_entry(snapshot, folder, name, path, depth)
        except OSError as error:
            if error.errno in NO_ROOM:  # ours to say: nothing is wrong with the submission
                raise
            problem = f"cannot be read: {error.strerror}"
        if problem:
            snapshot.problems[path] = problem


def take(source: str | Path, root: Path) -> Snapshot:
    """Copy the folder `source` to the empty, private folder `root`. Raises SubmissionError."""
    source = Path(source)
    snapshot = Snapshot(source, root)
    try:
        handle = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        fix = "name a folder that holds a submission"
        raise SubmissionError(f"{source}: {error.strerror}", str(source), fix) from None
    try:
        _copy_folder(snapshot, handle, "", 0)
    finally:
        os.close(handle)
    return snapshot
