"""Reading one file of a run's folder: an object, the last rows of a log, a number, a time."""

import errno
import json
import math
import stat
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any

from rlhf.runlog import CONFIG_NAME, LOG_NAME, parse_lines

from .paths import RUN_RECORD

POLICY_NAME = "policy.safetensors"
DEV_NAME = "dev_eval.json"
MAX_JSON_BYTES = 1 << 20  # a record larger than this is not one of ours
TAIL_BYTES = 1 << 16  # enough for the last rows of a log
RECENT_ROWS = 12  # of a log: enough for its present speed and its usual interval

# any of them makes a folder a run
RUN_MARKS = (RUN_RECORD, CONFIG_NAME, LOG_NAME, POLICY_NAME)

Problem = dict[str, str]


def number(value: Any) -> float | int | None:
    """`value` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def open_plain(path: Path) -> BufferedReader:
    """`path` for reading. Raises OSError; a pipe is refused, for it would be waited for."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return open(path, "rb")


def read_object(path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    """The JSON object in `path`; None if there is none, with a problem if it is damaged."""
    try:
        if not path.is_file():
            return None
        with open(path, "rb") as file:
            data = file.read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            raise ValueError(f"is larger than {MAX_JSON_BYTES} bytes")
        value = json.loads(data)
        if not isinstance(value, dict):
            raise ValueError("is not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        problems.append({"path": str(path), "message": _short(error)})
        return None
    return value


def _short(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return "is not valid JSON"
    return str(error)


def last_rows(path: Path, count: int = RECENT_ROWS) -> list[dict[str, Any]]:
    """The last rows of a log, at most `count`, of its last 64 KiB; without a torn last line."""
    try:
        with open_plain(path) as file:
            size = file.seek(0, 2)
            start = max(0, size - TAIL_BYTES)
            file.seek(start)
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError:
        return []
    return parse_lines((lines[1:] if start else lines)[-count:]).rows


def utc(seconds: float | None) -> str | None:
    """Seconds since the epoch as UTC ISO 8601."""
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def mtime(path: Path) -> float | None:
    """When `path` was last written, in seconds since the epoch; None if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return any((folder / mark).exists() for mark in RUN_MARKS)


def has_policy(folder: Path) -> bool:
    """Whether the run's final weights are there."""
    return (folder / POLICY_NAME).is_file()


def text(value: Any) -> str | None:
    """`value` if it is a string with something in it, else None."""
    return value if isinstance(value, str) and value.strip() else None
