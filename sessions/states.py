"""The state of a run, derived from the evidence in its folder; never stored."""

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from .identity import alive, parse

OUTCOMES = ("finished", "failed", "stopped")
LIVE = ("queued", "starting", "running", "stalled")
SILENT_S = 60.0  # a live run may be silent this long,
SILENT_INTERVALS = 10  # or as many of its own median intervals between rows

JSON = Mapping[str, Any]


class State(NamedTuple):
    """The word of SPEC's list, and why, in words (None where there is nothing to add)."""

    state: str
    reason: str | None


@dataclass(frozen=True)
class Evidence:
    """What a run's folder shows. `rows` are the last of its log, oldest first."""

    record: JSON | None = None
    done: JSON | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    has_policy: bool = False
    queued: bool = False  # it has an entry in the queue
    log_age_s: float | None = None  # since the log was last written, by the wall clock


def derive(evidence: Evidence) -> State:
    """The first state that the evidence fits."""
    record = evidence.record
    if record is None or "process" not in record:  # none that a launcher of ours wrote
        return _without_record(evidence)
    if record["process"] is None and not _begun_elsewhere(evidence, record):
        return _not_begun(evidence, record)
    if evidence.done is not None:
        return _receipt(evidence.done, record)
    process = parse(record["process"])
    if process is None:
        return State("unknown", "its record names no process that can be read")
    lives = alive(process)
    if lives is None:
        return State("unknown", f"it was started on another host, {process.host}")
    return _living(evidence, record) if lives else _gone(record)


def _begun_elsewhere(evidence: Evidence, record: JSON) -> bool:
    """Whether a run that no attempt of ours has begun has ended all the same."""
    first = record.get("attempt", 1) == 1  # else the receipt is that of the attempt before
    return evidence.done is not None and first and not record.get("cancelled")


def _without_record(evidence: Evidence) -> State:
    if evidence.done is not None:
        return _receipt(evidence.done, {})
    if evidence.has_policy:
        return State("finished", None)
    if evidence.log_age_s is None:
        return State("unknown", "no log row and no record of the process that writes it")
    if evidence.log_age_s <= _patience(evidence.rows):
        return State("running", None)
    return State("unknown", "its log stopped growing and no record of the process was kept")


def _not_begun(evidence: Evidence, record: JSON) -> State:
    cancelled = record.get("cancelled")
    if isinstance(cancelled, Mapping):
        return State("stopped", f"taken out of the queue by {cancelled.get('by')}")
    if evidence.queued:
        return State("queued", None)
    return State("queued", "it is in no queue: rlhf-tui resume puts it back")


def _receipt(done: JSON, record: JSON) -> State:
    outcome, reason = done.get("outcome"), done.get("reason")
    if outcome not in OUTCOMES:
        return State("unknown", "its done.json names no outcome")
    reason = reason if isinstance(reason, str) and reason else None
    stop = record.get("stop")
    if outcome == "stopped" and isinstance(stop, Mapping):
        reason = f"stopped by {stop.get('by')}"
    return State(outcome, reason)


def _living(evidence: Evidence, record: JSON) -> State:
    if record.get("kind") != "run":  # a job keeps no log of rows
        return State("running", None)
    silent, patience = silence(evidence.rows, record), _patience(evidence.rows)
    if silent > patience:
        return State("stalled", f"alive, but no log row for {silent:.0f} s")
    if evidence.rows:
        return State("running", None)
    return State("starting", None)


def _gone(record: JSON) -> State:
    stop = record.get("stop")
    if isinstance(stop, Mapping) and stop.get("ended"):
        return State("stopped", f"{stop['ended']} by {stop.get('by')}; it left no receipt")
    return State("lost", f"the process is gone without a receipt{_last_words(record)}")


def _last_words(record: JSON) -> str:
    seen = record.get("exit")
    if not isinstance(seen, Mapping):
        return ""
    if isinstance(seen.get("signal"), int):
        return f" ({signal_name(seen['signal'])})"
    said = f": {seen['said']}" if isinstance(seen.get("said"), str) else ""
    return f" (exit code {seen.get('code')}{said})"


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _patience(rows: list[dict[str, Any]]) -> float:
    """Seconds that a run with these rows may be silent."""
    times = _elapsed(rows)
    gaps = [late - early for early, late in zip(times, times[1:], strict=False)]
    return max(SILENT_S, SILENT_INTERVALS * median(gaps)) if gaps else SILENT_S


def _elapsed(rows: list[dict[str, Any]]) -> list[float]:
    found = (row.get("elapsed_s") for row in rows)
    return [float(x) for x in found if isinstance(x, int | float) and not isinstance(x, bool)]


def silence(rows: list[dict[str, Any]], record: JSON) -> float:
    """Seconds since the last log row of this attempt, or since its start, whichever is later.

    Told by the monotonic clock, which all processes of one boot share, and by the run's own
    elapsed_s: no jump of the wall clock and no suspended laptop makes a run look stalled.
    """
    process = record.get("process") or {}
    started = process.get("monotonic")
    if not isinstance(started, int | float):
        return 0.0
    return time.monotonic() - started - _active_seconds(rows, process)


def _active_seconds(rows: list[dict[str, Any]], process: JSON) -> float:
    """How far into this attempt its last row was written."""
    step, base = process.get("resumed_from") or 0, process.get("resumed_elapsed") or 0.0
    times = _elapsed([row for row in rows[-1:] if _step(row) > step])
    if not times:
        return 0.0
    return times[-1] - base if times[-1] >= base else times[-1]


def _step(row: JSON) -> float:
    step = row.get("step")
    return step if isinstance(step, int | float) else -1
