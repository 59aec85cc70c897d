"""What the record and the folder of one run tell beyond `runs`: the second part of `show`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlhf.runlog import CHECKPOINTS_NAME, CONFIG_NAME, DONE_NAME

from . import meta
from .afterwards import VALIDATION, VERDICT
from .inputs import changed_inputs
from .paths import RUN_RECORD, Workspace
from .runfiles import read_object

MOST_FILES = 1000
_FROM_RECORD = (
    "command", "env", "threads", "code", "inputs", "launched_by", "attempt", "attempts",
    "replay_of",
)  # fmt: skip


def detail(workspace: Workspace, identifier: str, folder: Path) -> dict[str, Any]:
    """Config, command, hashes, host, pid, files, checkpoints, receipt, validation, notes."""
    record = read_object(folder / RUN_RECORD, []) or {}
    process = record.get("process") if isinstance(record.get("process"), dict) else {}
    about = meta.read(workspace, identifier)
    inputs = record.get("inputs")
    return {
        "folder": str(folder),
        "config": read_object(folder / CONFIG_NAME, []) or record.get("config"),
        **{key: record.get(key) for key in _FROM_RECORD},
        **{key: (process or {}).get(key) for key in ("host", "boot", "pid", "start")},
        "inputs_changed": changed_inputs(inputs) if isinstance(inputs, dict) else [],
        "files": dict(_files(folder)),
        "checkpoints": _checkpoints(folder),
        "done": read_object(folder / DONE_NAME, []),
        "validation": read_object(folder / VALIDATION, []),
        "replay": read_object(folder / VERDICT, []),
        "replays": about.of_kind("replay"),
        "notes": about.of_kind("note"),
        "decisions": about.of_kind("decision"),
    }


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Sizes in bytes of the files directly in the folder, by name."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)[:MOST_FILES]
    except OSError:
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
            yield entry.name, entry.stat(follow_symlinks=False).st_size


def _checkpoints(folder: Path) -> list[int]:
    names = [path.name for path in (folder / CHECKPOINTS_NAME).glob("step-*")]
    return sorted(int(name[5:]) for name in names if name[5:].isdigit())
