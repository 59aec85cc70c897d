"""A run's files that need no torch: the metrics log, the receipt, and atomic writing.

`log.jsonl` is appended to, one whole line a row; every other file is replaced atomically.
Numbers that are not finite are written as null: strict JSON, which every reader can parse.
"""

import errno
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import DataError

LOG_NAME = "log.jsonl"
DONE_NAME = "done.json"
CONFIG_NAME = "run_config.json"
CHECKPOINTS_NAME = "checkpoints"


def finite_or_null(value: Any) -> Any:
    """`value` with every NaN and infinity inside it replaced by None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite_or_null(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_null(item) for item in value]
    return value


def dumps(value: Any, indent: int | None = None) -> str:
    """Strict JSON text; non-finite numbers become null."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:  # something is not finite: only then is a walk through all of it needed
        return json.dumps(finite_or_null(value), indent=indent, allow_nan=False)


def replace_file(path: str | Path, data: bytes) -> None:
    """Write `path` so that a reader, or a crash, sees the old content or the new one, whole.

    A device or a pipe (/dev/null, /dev/stdout) is written to, never replaced.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_json(path: str | Path, value: Any) -> None:
    """Replace `path` atomically with `value` as indented strict JSON."""
    replace_file(path, (dumps(value, indent=1) + "\n").encode())


def read_json(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file. Raises OSError, or DataError naming the file."""
    try:
        value = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a JSON object")
    return value


def append_row(path: str | Path, row: Mapping[str, Any]) -> None:
    """Append one row to a JSONL log in a single write, whole or not at all. Raises OSError."""
    data = (dumps(row) + "\n").encode()
    with open(path, "ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        if file.write(data) != len(data):  # a disk that fills up takes what fits, and says nothing
            file.truncate(before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


@dataclass(frozen=True)
class Log:
    """The rows of a log, and what could not be read: (line number, what is wrong)."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse_lines(lines: Iterable[bytes]) -> Log:
    """Rows of JSONL bytes. A last line cut short is ignored; any other bad line is a problem."""
    rows: list[dict[str, Any]] = []
    problems: list[tuple[int, str]] = []
    torn: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if torn is not None:
            problems.append(torn)
            torn = None
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            torn = (number, "is not valid JSON")
            continue
        if isinstance(row, dict):
            rows.append(row)
        else:
            problems.append((number, "is not a JSON object"))
    return Log(rows, problems)


def read_log(path: str | Path) -> Log:
    """All rows of a JSONL file, with the lines that could not be read. Raises OSError."""
    with open(path, "rb") as file:
        return parse_lines(file)


def write_done(out_dir: str | Path, receipt: Mapping[str, Any]) -> None:
    """Write the run's receipt, its last act.

    `receipt` holds outcome (finished, failed or stopped), reason, by, steps, wall_s and the
    sha256 of each artefact.
    """
    write_json(Path(out_dir) / DONE_NAME, {"format": 1, **receipt})


def canonical_sha256(path: str | Path) -> str:
    """sha256 of a file in the form that runs are compared in: a log without its elapsed_s."""
    path = Path(path)
    data = path.read_bytes()
    if path.name == LOG_NAME:
        rows = [{k: v for k, v in row.items() if k != "elapsed_s"} for row in read_log(path).rows]
        data = "".join(dumps(row) + "\n" for row in rows).encode()
    return hashlib.sha256(data).hexdigest()
