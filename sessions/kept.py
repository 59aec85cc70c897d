"""A listing of many runs, kept between processes in the user's cache; may be deleted any time."""

import gc
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rlhf.runlog import replace_file

from .rundir import Run
from .runfiles import Problem
from .states import LIVE

FORMAT = 3  # raised when what a run's facts hold changes

Stamp = list[int] | None  # modification time in ns, size


class Entry(NamedTuple):
    """A folder as it was read: its files' stamps, the run, its recipe, what was wrong."""

    stamps: list[Stamp]
    run: Run
    recipe: str | None
    problems: list[Problem]

    @property
    def is_settled(self) -> bool:
        """Whether it need not be read again while its stamps stand."""
        return self.run["state"] not in LIVE and not self.problems


def stamp_of(path: str) -> Stamp:
    """What tells whether a file or folder changed; None if it is not there."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size]


def load(path: Path, scope: list[str]) -> dict[str, Entry]:
    """The kept listing; empty if there is none, it is damaged, or it is of another task.

    One line an entry, so that no single step of reading it takes long.
    """
    collecting = gc.isenabled()
    gc.disable()  # else every few hundred of the many small objects cost a collection
    try:
        digest, _, payload = path.read_bytes().partition(b"\n")
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            return {}
        head, *lines = payload.splitlines()
        if json.loads(head) != {"format": FORMAT, "scope": scope}:
            return {}
        kept = [json.loads(line) for line in lines]
        return {folder: Entry(*entry) for folder, *entry in kept}
    except (OSError, ValueError):
        return {}
    finally:
        if collecting:
            gc.enable()


def save(path: Path, scope: list[str], entries: dict[str, Entry]) -> None:
    """Keep a listing; a cache that cannot be written costs only time."""
    lines = [json.dumps({"format": FORMAT, "scope": scope})]
    lines += [json.dumps([folder, *entry]) for folder, entry in entries.items()]
    payload = "\n".join(lines).encode()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
