"""sha256 of files, and the keys under which is kept what was measured from them."""

import errno
import hashlib
import json
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json

from .evaluation_child import Sampling
from .runfiles import POLICY_NAME, read_object


class FileHashes:
    """sha256 of files, remembered while their size, modification time and inode stand."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._known: dict[str, Any] = read_object(store, []) or {}
        self._changed = False

    def of(self, path: Path) -> str:
        """Hex sha256 of the file's content. Raises OSError; a pipe or device would never end."""
        found = path.stat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            why = "it is a pipe or a device: write it to a file first"
            raise OSError(errno.EINVAL, why, str(path))
        stamp = [found.st_size, found.st_mtime_ns, found.st_ino]
        known = self._known.get(str(path))
        if isinstance(known, list) and known[:3] == stamp and len(known) == 4:
            return str(known[3])
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._known[str(path)] = [*stamp, digest]
        self._changed = True
        return digest

    def save(self) -> None:
        """Keep what was learned; a cache that cannot be written costs only time."""
        if self._changed:
            with suppress(OSError):
                self._store.parent.mkdir(parents=True, exist_ok=True)
                write_json(self._store, self._known)
            self._changed = False

    def sampled_key(self, policy_dir: Path, of_task: Sequence[Path], how: Sampling) -> str:
        """The key of what comes of sampling a checkpoint: its files, the task's, how.

        Raises OSError.
        """
        read = [policy_dir / POLICY_NAME, policy_dir / "config.json", *of_task]
        return key_of([1, *how, *(self.of(path) for path in read)])


def key_of(parts: Sequence[Any]) -> str:
    """A name for what was computed from `parts`."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:32]
