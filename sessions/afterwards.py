"""What follows a run's end: validation, dev evaluation, a replay's comparison. Each a child."""

import sys
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import DONE_NAME

from .record import Record
from .runfiles import DEV_NAME, read_object
from .task import DEV_PROMPTS

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


def dev_command(policy_dir: Path, out: Path) -> list[str]:
    """The dev evaluation of a checkpoint on the task of its environment, written to `out`."""
    words = ["--policy", str(policy_dir), "--out", str(out)]
    return [sys.executable, "-P", "-m", "rlhf.analysis.dev_eval", *words]


def _checks(folder: Path, record: Record) -> list[Check]:
    python = [sys.executable, "-P", "-m"]
    found = []
    if record.get("replay_of"):
        found.append(Check(VERDICT, [*python, "sessions", "compare", str(folder)]))
    if record.get("validate"):
        command = [*python, "rlhf.analysis.validate", str(folder)]
        found.append(Check(VALIDATION, command))
    if record.get("validate") and (Path(record["env"].get("TASK", "")) / DEV_PROMPTS).is_file():
        found.append(Check(DEV_NAME, dev_command(folder, folder / DEV_NAME)))
    return found
