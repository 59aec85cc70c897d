"""Tries, inside the sandbox, what a submission must not be able to do; prints what held.

A script of the standard library alone. Its argument is a JSON object: secrets (files), modules and
the roots to look for them in, folders (not to be written), unix (an abstract socket), port (a TCP
listener on loopback), pid and born (the grader's, and its start in clock ticks, to tell it from a
namesake in another namespace).
"""

import contextlib
import ctypes
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable

_NEW_USER = 0x10000000


def _refused(action: Callable[..., object], *arguments: object) -> bool:
    """Whether the call raised an error of the system."""
    try:
        action(*arguments)
    except OSError:
        return True
    return False


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _write(folder: str) -> None:
    path = os.path.join(folder, f".canary-{os.getpid()}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)


def _absent(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return True
    return False


def _own_library() -> bool:
    """Whether rlhf is the task's."""
    found = importlib.import_module("rlhf").__file__ or ""
    return os.path.realpath(found).startswith(os.path.realpath(os.environ["TASK"]) + os.sep)


def _connect(family: int, kind: int, address: str | tuple[str, int]) -> None:
    with socket.socket(family, kind) as client:
        client.settimeout(1)
        client.connect(address)
        client.send(b"x")


def _is_grader(pid: int, born: str) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode() == born
    return True  # unseen: the signal itself must tell


def _unshare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(_NEW_USER) < 0:
        raise OSError(ctypes.get_errno(), "unshare")


def checks(plan: dict) -> dict[str, bool]:
    """Name of each attempt and whether the sandbox held."""
    pid = plan["pid"]
    sys.path.extend(plan["roots"])
    loopback = ("127.0.0.1", plan["port"])
    return {
        "read": all(_refused(_read, path) for path in plan["secrets"]),
        "import": all(map(_absent, plan["modules"])),
        "library": _own_library(),
        "write": all(_refused(_write, folder) for folder in plan["folders"]),
        "tcp": _refused(_connect, socket.AF_INET, socket.SOCK_STREAM, loopback),
        "udp": _refused(_connect, socket.AF_INET, socket.SOCK_DGRAM, loopback),
        "unix": _refused(_connect, socket.AF_UNIX, socket.SOCK_STREAM, "\0" + plan["unix"]),
        "signal": not _is_grader(pid, plan["born"]) or _refused(os.kill, pid, 0),
        "environment": _refused(_read, f"/proc/{pid}/environ") or not _is_grader(pid, plan["born"]),
        "namespace": _refused(_unshare),
    }


if __name__ == "__main__":
    json.dump(checks(json.loads(sys.argv[1])), sys.stdout)
