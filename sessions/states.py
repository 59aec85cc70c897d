"""The state of a run, derived from the evidence in its folder; never stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OUTCOMES = ("finished", "failed", "stopped")
LIVE = ("queued", "starting", "running", "stalled")
STATES = (*LIVE, *OUTCOMES, "lost", "unknown")
SILENT_S = 60.0  # a live run may be silent this long, or ten of its own intervals


@dataclass(frozen=True)
class Evidence:
    """What a run's folder shows. Ages are seconds since the file was last written."""

    done: Mapping[str, Any] | None
    has_policy: bool
    log_age_s: float | None
    row_interval_s: float = 0.0


def derive(evidence: Evidence) -> tuple[str, str | None]:
    """(state, reason) of a run for which no launcher keeps a record."""
    done = evidence.done
    if done is not None:
        outcome = done.get("outcome")
        reason = done.get("reason")
        state = outcome if outcome in OUTCOMES else "unknown"
        return state, reason if isinstance(reason, str) else None
    if evidence.has_policy:
        return "finished", None
    if evidence.log_age_s is None:
        return "unknown", "no log row and no record of the process that writes it"
    if evidence.log_age_s <= max(SILENT_S, 10 * evidence.row_interval_s):
        return "running", None
    return "unknown", "its log stopped growing and no record of the process was kept"
