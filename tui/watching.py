"""What runs and waits, what happened, what is alarming. A plain class: no Textual here."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sessions.states import LIVE

from .alerts import Alerts
from .fields import Run
from .job_table import duration
from .render import clean

if TYPE_CHECKING:
    from sessions.progress import Progress

MOST_NOTES = 200
WORTH_A_NOTE = ("finished", "failed", "stopped", "stalled", "lost")


@dataclass(frozen=True)
class Note:
    """Something that happened: the clock (HH:MM:SS) and what."""

    clock: str
    text: str


@dataclass
class Watch:
    """The line of jobs, notes of what happened, and alert rules."""

    jobs: "Sequence[Progress]" = ()
    paused: bool = False
    alerts: Alerts = field(default_factory=Alerts)
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    bell: bool = False  # whether the terminal rings for a note
    untold: list[str] = field(default_factory=list)  # notes not said in the status line yet

    def compare(self, before: Mapping[str, Run] | None, runs: Mapping[str, Run]) -> None:
        """Note what changed between two listings; `before` None is the first listing."""
        told = [] if before is None else ends(before, runs)
        self.note([*told, *self.alerts.check(runs)])

    def note(self, texts: Sequence[str]) -> None:
        """Keep these notes, to be told once."""
        clock = time.strftime("%H:%M:%S")
        self.notes.extend(Note(clock, text) for text in texts)
        self.untold.extend(texts)

    def tell(self) -> str:
        """What has not been said yet, on one line."""
        texts, self.untold = self.untold, []
        more = f"  and {len(texts) - 1} more notes (6, then N)" if len(texts) > 1 else ""
        return texts[-1] + more if texts else ""


def ends(before: Mapping[str, Run], runs: Mapping[str, Run]) -> list[str]:
    """A note for each run that ended, failed, stalled or was lost between two listings."""
    notes = []
    for key, run in runs.items():
        then, now = before.get(key, {}).get("state"), run["state"]
        if then in LIVE and now != then and now in WORTH_A_NOTE:
            why = f": {run['reason']}" if run.get("reason") else ""
            notes.append(clean(f"{run['name']} {now}{why}"))
    return notes


def in_short(watch: Watch) -> list[str]:
    """The bar's figures, most important first: alarms, what runs and waits, how long it takes."""
    waiting = [job for job in watch.jobs if job.state == "queued"]
    running = [job for job in watch.jobs if job.state != "queued"]
    parts = [f"! {len(watch.alerts.holding)}"] if watch.alerts.holding else []
    parts += ["paused"] if watch.paused else []
    parts += [f"{len(running)} run {_share(running)}".strip()] if running else []
    parts += [f"{len(waiting)} wait"] if waiting else []
    left = _left(running, [] if watch.paused else waiting)
    return [*parts, f"{duration(left)} left"] if left else parts


def _left(running: "Sequence[Progress]", waiting: "Sequence[Progress]") -> float:
    """Seconds: the longest of what runs, then what waits, as fast as all that runs together."""
    live = [job for job in running if job.state in ("running", "stalled") and job.left_s]
    speed = sum(job.steps_per_s or 0 for job in live)
    steps = sum((job.steps or 0) - (job.step or 0) for job in waiting)
    return max((job.left_s or 0 for job in live), default=0) + (steps / speed if speed else 0)


def _share(running: "Sequence[Progress]") -> str:
    pairs = [(job.step or 0, job.steps) for job in running if job.steps]
    total = sum(steps for _, steps in pairs)
    return f"{100 * sum(step for step, _ in pairs) // total}%" if total else ""
