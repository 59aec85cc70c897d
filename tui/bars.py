"""The lines above and below the panes, and what the runs pane says in the lower one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from .job_table import duration
from .render import clean, fit, pad, width
from .state import State

if TYPE_CHECKING:
    from .panes import PaneKind

HINTS = "? keys  : commands  q quit "
FEWER_HINTS = "? keys "


def tabs_line(kinds: "Iterable[PaneKind]", current: str, title: str, work: str, room: int) -> Text:
    """The panes with their keys, the current one marked; at the right what runs, and the title."""
    tabs = Text(no_wrap=True)
    for kind in kinds:
        style = "reverse bold" if kind.name == current else ""
        tabs.append(f" {kind.key} {kind.title} ", style=style)
    rest = max(0, room - width(tabs.plain))
    title = clean(title)
    if work:
        title = f"{work}  {title}" if width(work) + width(title) + 2 <= rest else work
    return tabs.append(pad(title, rest, right=True), style="bold" if work else "dim")


def work_text(state: State) -> str:
    """What runs and waits, and alerts, in brief; empty if there is nothing to say."""
    running = [job for job in state.jobs if job.state != "queued"]
    waiting = len(state.jobs) - len(running)
    parts = []
    if running:
        done = [(job.step or 0) / job.steps for job in running if job.steps]
        parts.append(
            f"{len(running)} run" + (f" {100 * sum(done) / len(done):.0f}%" if done else "")
        )
    parts += [f"{waiting} wait"] if waiting else []
    left = [job.left_s for job in running if job.left_s is not None]
    parts += [f"{duration(max(left))} left"] if left and not waiting else []
    parts += ["PAUSED"] if state.paused else []
    parts += [f"! {len(state.alerts.holding)}"] if state.alerts.holding else []
    return "  ".join(parts)


def status_line(said: str, status: str, room: int) -> Text:
    """What there is to say, else the pane's status (both where there is room); hints."""
    left = f" {said or status}"
    if said and len(left) < room // 3:
        left += f"   {status}"
    spare = room - width(left) - 2
    hints = HINTS if spare >= len(HINTS) else FEWER_HINTS if spare >= len(FEWER_HINTS) else ""
    text = Text(fit(left, room), style="bold" if said else "", no_wrap=True)
    return text.append(" " * max(0, room - width(text.plain) - len(hints))).append(hints, "dim")


def runs_status(state: State, first: int, last: int, at: int) -> str:
    """Counts, marks, filter, order. `first` to `last` are the rows on screen, `at` the cursor's."""
    shown = len(state.rows())
    count = f"{at}/{shown}" if shown == len(state.runs) else f"{at}/{shown} of {len(state.runs)}"
    parts = [count if shown <= last - first + 1 else f"{count} (lines {first}-{last})"]
    if state.marks:
        parts.append(f"{len(state.marks)} marked")
    if state.filter:
        parts.append(f"filter {clean(state.filter)}")
    if state.sort:
        parts.append(f"by {state.sort} {'▼' if state.reverse else '▲'}")
    if state.problems:
        parts.append(f"{len(state.problems)} problems (p)")
    return "  ".join(parts)
