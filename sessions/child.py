"""The first moments of a run's own process: claim the record, check the inputs, become the run.

A claim is the only way to start, it is made under the record's lock, and it names the process
that made it; so however many supervisors try, each attempt is begun once.
"""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rlhf.runlog import CHECKPOINTS_NAME, DONE_NAME, LOG_NAME, write_done

from .errors import writing
from .identity import RUN_MARK, own
from .inputs import changed_inputs
from .paths import OUTPUT_LOG
from .record import Record, now, update
from .runfiles import last_rows
from .supervise import python_environment

NOT_MINE = 75  # exit code: another process has this attempt, or it was called off
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def execute(folder: Path, attempt: int) -> int:
    """Begin attempt number `attempt` of the run or job in `folder`; a run never returns."""
    record = claim(folder, attempt)
    if record is None:
        return NOT_MINE
    began = time.monotonic()
    _redirect(folder / OUTPUT_LOG)
    print(f"--- attempt {attempt}, {now()}", flush=True)
    changed = changed_inputs(record.get("inputs") or {})
    if changed:
        return _fail(folder, f"input changed since the launch: {'; '.join(changed)}", began)
    try:
        return _become(folder, record, began)
    except OSError as error:
        return _fail(folder, f"cannot start {record['command'][0]}: {error.strerror}", began)


def claim(folder: Path, attempt: int) -> Record | None:
    """The record with this process in it, or None if the attempt is not to be begun here."""

    def change(record: Record) -> bool | None:
        if record["attempt"] != attempt or record["process"] or record["cancelled"]:
            return False
        with writing(folder):
            _put_aside(folder, attempt)
        step = last_checkpoint(folder) if attempt > 1 else None
        record["process"] = own().as_dict() | {
            "monotonic": time.monotonic(),
            "resumed_from": step,
            "resumed_elapsed": elapsed_at(folder, step),
        }
        record["started"] = record["started"] or now()
        return None

    return update(folder, change)


def _put_aside(folder: Path, attempt: int) -> None:
    """Keep the receipt of the attempt before under another name: it is not this one's."""
    if (folder / DONE_NAME).exists():
        os.replace(folder / DONE_NAME, folder / f"done.{attempt - 1}.json")


def last_checkpoint(folder: Path) -> int | None:
    """The step of the newest checkpoint, or None."""
    names = [path.name for path in (folder / CHECKPOINTS_NAME).glob("step-*")]
    steps = [int(name[5:]) for name in names if name[5:].isdigit()]
    return max(steps, default=None)


def elapsed_at(folder: Path, step: int | None) -> float | None:
    """The run's own clock, in seconds, at the last log row up to `step`."""
    written = last_rows(folder / LOG_NAME, count=10_000)
    rows = [row for row in written if (row.get("step") or 0) <= (step or 0)]
    value = rows[-1].get("elapsed_s") if rows else None
    return float(value) if isinstance(value, int | float) else None


def _redirect(path: Path) -> None:
    """Send everything printed from here on to `path`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    sys.stdout.flush()
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.close(handle)


def environment(folder: Path, record: Record) -> dict[str, str]:
    """What the run finds in its environment."""
    threads = str(record.get("threads") or 1)
    return {
        **python_environment(),
        **dict.fromkeys(THREAD_VARIABLES, threads),
        "PYTHONUNBUFFERED": "1",
        **record["env"],
        RUN_MARK: str(folder),
    }


def _become(folder: Path, record: Record, began: float) -> int:
    command, env = list(record["command"]), environment(folder, record)
    if record["kind"] != "run":
        return _accompany(folder, command, env, began)
    if record["attempt"] > 1:
        command.append("--resume")
    os.chdir(folder)
    return os.execvpe(command[0], command, env)


def _accompany(folder: Path, command: list[str], env: dict[str, str], began: float) -> int:
    """Run a job's command to its end and write its receipt, which it does not write itself."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    child = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL)
    code = child.wait()
    outcome = "stopped" if asked else "failed" if code else "finished"
    reason = None if outcome == "finished" else f"exit code {code}"
    _receipt(folder, outcome, reason, began, exit_code=code)
    return code if code >= 0 else 128 - code


def _fail(folder: Path, reason: str, began: float) -> int:
    print(f"error: {reason}", flush=True)
    _receipt(folder, "failed", reason, began)
    return 3


def _receipt(folder: Path, outcome: str, reason: str | None, began: float, **more: Any) -> None:
    ended = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    wall_s = round(time.monotonic() - began, 3)
    fields = {"outcome": outcome, "reason": reason, "by": None, "steps": None, "wall_s": wall_s}
    write_done(folder, {**fields, "artifacts": {}, "ended": ended, **more})
