"""Landlock: which files a process may touch, kept by the kernel, without any privilege."""

import ctypes
import sys
from collections.abc import Iterable
from typing import Any

_CREATE_RULESET = 444
_GET_VERSION = 1

EXECUTE, WRITE, READ, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
TRUNCATE = 1 << 14
_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_FILES_LATEST = (1 << 16) - 1  # from 5 on: device ioctls too
_TCP = 0b11  # bind and connect
_SCOPE = 0b11  # abstract unix sockets and signals

SEE = READ | READ_DIR
SCRATCH = SEE | WRITE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG
_ON_FILE = EXECUTE | WRITE | READ | TRUNCATE


def abi() -> int:
    """The kernel's Landlock version; 0 if there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION))


def rules(version: int, wanted: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """A ruleset for confine.py that allows `wanted` (path, rights) and nothing else."""
    files = _FILES.get(version, _FILES_LATEST)
    return {
        "files": files,
        "net": _TCP if version >= 4 else 0,
        "scope": _SCOPE if version >= 6 else 0,
        "size": 24 if version >= 6 else 16 if version >= 4 else 8,
        "on_file": _ON_FILE,
        "rules": [(path, rights & files) for path, rights in wanted],
    }
