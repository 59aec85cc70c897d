"""What runs and waits: how far each is, how fast, and how long it still needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from rlhf.runlog import CONFIG_NAME, DONE_NAME, LOG_NAME

from . import queue
from .afterwards import VALIDATION
from .evidence import judge
from .paths import RUN_RECORD, Workspace
from .runfiles import last_rows, mtime, number, read_object

RECENT_RUNS = 20  # over which the machine's usual speed is measured


@dataclass(frozen=True)
class Progress:
    """One run or job of the line. Speeds in steps a second, times in seconds."""

    id: str
    kind: str
    name: str
    state: str
    reason: str | None
    step: int | None = None
    steps: int | None = None
    steps_per_s: float | None = None
    left_s: float | None = None
    place: int | None = None  # among those that wait, 1 is next


def jobs(workspace: Workspace) -> list[Progress]:
    """What runs, then what waits, in the order of the line."""
    found = [_progress(entry.folder) for entry in queue.entries(workspace)]
    known = [one for one in found if one is not None]
    running = [one for one in known if one.state != "queued"]
    waiting = [one for one in known if one.state == "queued"]
    return running + [_placed(one, place) for place, one in enumerate(waiting, start=1)]


def _placed(one: Progress, place: int) -> Progress:
    return Progress(**{**vars(one), "place": place})


def _progress(folder: Path) -> Progress | None:
    record = read_object(folder / RUN_RECORD, [])
    if record is None:
        return None
    rows = last_rows(folder / LOG_NAME)
    done = read_object(folder / DONE_NAME, [])
    state, reason = judge(folder, record, done, rows)
    if state == "finished":
        reason = "being checked"
    config = record.get("config")
    steps = number(config.get("steps")) if isinstance(config, Mapping) else None
    step = number(rows[-1].get("step")) if rows else 0 if steps is not None else None
    speed = steps_per_second(rows)
    left = (steps - step) / speed if steps is not None and step is not None and speed else None
    name, kind = str(record.get("name") or folder.name), str(record.get("kind") or "run")
    at, of = (None if x is None else int(x) for x in (step, steps))
    return Progress(folder.name, kind, name, state, reason, at, of, speed, left)


def steps_per_second(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The speed over these log rows, or None if they do not tell."""
    points = [(number(row.get("elapsed_s")), number(row.get("step"))) for row in rows]
    known = [(t, s) for t, s in points if t is not None and s is not None]
    if not known:
        return None
    (t0, s0), (t1, s1) = known[0] if len(known) > 1 else (0.0, 0), known[-1]
    return (s1 - s0) / (t1 - t0) if t1 > t0 and s1 > s0 else None


@dataclass(frozen=True)
class Pace:
    """How long runs take here, in seconds: a sampled response, and all that is no step.

    `beside` is what a run needs to start, to end and to be checked; None if no run tells.
    """

    sample: float
    beside: float | None = None


def pace(workspace: Workspace, task: Path) -> Pace | None:
    """What recent runs took (medians), here or else the shipped; None if there are none."""
    for place in (workspace.runs, task / "runs"):
        recent = _newest(place)
        costs = [cost for folder in recent if (cost := _cost(folder)) is not None]
        if costs:
            beside = [spent for folder in recent if (spent := _beside(folder)) is not None]
            return Pace(median(costs), median(beside) if beside else None)
    return None


def _newest(place: Path) -> list[Path]:
    logs = []
    for log in place.glob(f"*/{LOG_NAME}"):
        try:
            logs.append((log.stat().st_mtime, log.parent))
        except OSError:
            continue
    return [folder for _, folder in sorted(logs, reverse=True)[:RECENT_RUNS]]


def _cost(folder: Path) -> float | None:
    config = read_object(folder / CONFIG_NAME, []) or {}
    speed = steps_per_second(last_rows(folder / LOG_NAME))
    batch = number(config.get("batch_prompts", 16)), number(config.get("samples_per_prompt", 8))
    if not speed or not batch[0] or not batch[1]:
        return None
    return 1 / speed / (batch[0] * batch[1])


def _beside(folder: Path) -> float | None:
    """What a run that ended at its first attempt took, less its steps; None if it did not."""
    record, done = (read_object(folder / name, []) or {} for name in (RUN_RECORD, DONE_NAME))
    seen, stepping = record.get("exit"), number(done.get("wall_s"))
    if record.get("attempt") != 1 or not isinstance(seen, Mapping) or stepping is None:
        return None
    try:
        began, ended = (datetime.fromisoformat(at) for at in (record["started"], seen["at"]))
        taken = (ended - began).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
    return max(0.0, taken - stepping) + _checking(folder)


def _checking(folder: Path) -> float:
    """How long it was checked after its end was kept in its record."""
    times = mtime(folder / RUN_RECORD), mtime(folder / VALIDATION)
    return max(0.0, times[1] - times[0]) if times[0] and times[1] else 0.0


def expected_seconds(config: Mapping[str, Any], pace: Pace) -> float:
    """What a run of this resolved config takes, with what is known of its start."""
    samples = config["steps"] * config["batch_prompts"] * config["samples_per_prompt"]
    return float(samples * pace.sample + (pace.beside or 0.0))


def sweep_seconds(each: Sequence[float], cores: int) -> float:
    """What runs of these lengths take, started in order, one a core."""
    ends = [0.0] * max(cores, 1)
    for seconds in each:
        ends[ends.index(min(ends))] += seconds
    return max(ends)
