"""A file system of a few hundred kilobytes, to be filled to its last byte, or one to be read only.

It is mounted in a mount namespace of its own, which nobody else sees and which takes it along
when it ends; the tests reach it through the process that lives in there.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

WAYS = (("--mount",), ("--user", "--map-root-user", "--mount"))
BALLAST = "ballast"


def small_disk(place: Path, kilobytes: int) -> AbstractContextManager[Path]:
    """An empty file system of this size. Skips the test where none can be mounted."""
    return _mounted(place, f'mount -t tmpfs -o size={kilobytes}k tmpfs "$0"')


def sealed(place: Path) -> AbstractContextManager[Path]:
    """The same folder, in which nothing can be written. Skips the test as `small_disk` does."""
    return _mounted(place, 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"')


@contextmanager
def _mounted(place: Path, mount: str) -> Iterator[Path]:
    place.mkdir(parents=True, exist_ok=True)
    script = f"{mount} && echo there && exec cat"
    for way in WAYS if shutil.which("unshare") else ():
        words = ["unshare", *way, "sh", "-c", script, str(place)]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as holder:
            assert holder.stdout is not None
            if holder.stdout.readline() == b"there\n":
                try:
                    yield Path(f"/proc/{holder.pid}/root{place}")
                finally:
                    holder.kill()
                return
    pytest.skip("nothing can be mounted here (unshare --mount)")


def fill(disk: Path) -> None:
    """Take every byte that is left."""
    with open(disk / BALLAST, "ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


def free(disk: Path) -> None:
    """Give all of it back."""
    (disk / BALLAST).unlink()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its name there."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def changed(folder: Path, before: dict[str, bytes]) -> list[str]:
    """The files that are others than before; a new one that is empty holds nothing."""
    now = contents(folder)
    return [name for name in before | now if before.get(name, b"") != now.get(name, b"")]
