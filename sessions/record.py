"""run.json: the one record of a run or job, written by every launch path.

Its writers hold the folder's lock; its readers need none, since it is replaced whole.
"""

import fcntl
import getpass
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json

from .errors import InputError, writing
from .identity import host
from .paths import RUN_RECORD
from .runfiles import open_plain

LOCK = ".lock"
MAX_BYTES = 1 << 20  # a record larger than this is not one of ours

# what keys of a record hold; anything else in them, in a record that others wrote, is dropped
KINDS: dict[str, Any] = {
    **dict.fromkeys(("name", "kind"), str),
    **dict.fromkeys(("command", "attempts"), list),
    **dict.fromkeys(("exit", "stop", "cancelled", "config", "inputs", "replay_of"), dict | None),
    "env": dict,
    "attempt": int,
}

Record = dict[str, Any]


def now() -> str:
    """The time, as UTC ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def operator() -> str:
    """Who acts: user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{host()}"


def new_record(kind: str, name: str, command: list[str], **fields: Any) -> Record:
    """A record of what is to run; `fields` are added to, or replace, the usual ones."""
    return {
        "format": 1,
        "kind": kind,
        "name": name,
        "created": now(),
        "started": None,
        "launched_by": operator(),
        "command": command,
        "env": {},
        "threads": 1,
        "parent": None,
        "sweep": None,
        **fresh_attempt(1),
        "attempts": [],
        **fields,
    }


def fresh_attempt(number: int) -> Record:
    """What a record says of an attempt that has not begun."""
    return {"attempt": number, "process": None, "exit": None, "stop": None, "cancelled": None}


def load(folder: Path) -> Record | None:
    """The record in `folder`, whole even if keys are missing; None if no launcher of ours wrote it.

    Raises InputError if it is damaged.
    """
    path = folder / RUN_RECORD
    try:
        with open_plain(path) as file:
            value = json.loads(file.read(MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON", str(path)) from error
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a JSON object", str(path))
    if "process" not in value:
        return None
    sound = {key: kept for key, kept in value.items() if isinstance(kept, KINDS.get(key, object))}
    return {**new_record("run", folder.name, []), "created": None, **sound}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder`'s lock. Raises SessionError if it cannot be written."""
    with writing(folder):
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def update(
    folder: Path,
    change: Callable[[Record], bool | None],
    then: Callable[[Record], None] = lambda record: None,
) -> Record | None:
    """Change the record under its lock; `change` returns False to leave it as it is.

    `then` is done under the same lock once it is written. Returns the record as written, or
    None if it was left. Raises InputError without one.
    """
    with locked(folder):
        record = load(folder)
        if record is None:
            raise InputError(f"{folder / RUN_RECORD} is missing", str(folder / RUN_RECORD))
        if change(record) is False:
            return None
        with writing(folder / RUN_RECORD):
            write_json(folder / RUN_RECORD, record)
        then(record)
        return record
