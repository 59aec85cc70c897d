"""What follows a run's end: its validation, and for a replay the comparison. Each a child."""

import sys
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import DONE_NAME

from .record import Record
from .runfiles import read_object

VALIDATION = "validation.json"
VERDICT = "replay.json"


@dataclass(frozen=True)
class Check:
    """A command that leaves `name` in the run's folder, and is run once."""

    name: str
    command: list[str]


def next_check(folder: Path, record: Record) -> Check | None:
    """The check that a run which has ended still lacks, or None."""
    done = read_object(folder / DONE_NAME, [])
    if done is None or done.get("outcome") != "finished":
        return None
    return next((c for c in _checks(folder, record) if not (folder / c.name).exists()), None)


def _checks(folder: Path, record: Record) -> list[Check]:
    python = [sys.executable, "-P", "-m"]
    found = []
    if record.get("replay_of"):
        found.append(Check(VERDICT, [*python, "sessions", "compare", str(folder)]))
    if record.get("validate"):
        command = [*python, "rlhf.analysis.validate", str(folder)]
        found.append(Check(VALIDATION, command))
    return found
