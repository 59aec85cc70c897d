"""A line of the Jobs pane as text, and the loop that reads the line of jobs."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .job_table import duration
from .render import clean, figure, pad, plain

if TYPE_CHECKING:
    from sessions.paths import Workspace
    from sessions.progress import Progress

POLL_S = 1.0
IDLE_S = 3.0  # between looks while nothing runs or waits
RESTART_S = 15.0  # between two supervisors that are sent for: one may leave at once
BAR = 8  # cells of the bar, which goes where the name needs its room
BAR_FROM = 100  # cells of a line with a bar


def job_text(job: "Progress", room: int) -> str:
    """One job on one line of `room` cells."""
    done = job.step / job.steps if job.steps and job.step is not None else None
    steps = f"{plain(job.step)}/{plain(job.steps)}" if job.steps is not None else "-"
    live = job.state in ("running", "stalled")
    cells = [
        pad(clean(job.kind), 5),
        pad(clean(job.name), name_cells(room)),
        pad(job.state, 9),
        progress_bar(done, _bar_cells(room)),
        pad(steps, 9, right=True),
        pad(figure(job.steps_per_s) if live else "-", 6, right=True),
        pad(duration(job.left_s) if live else "-", 7, right=True),
        f"  {job.place}" if job.place else f"  {clean(job.reason or '')}",
    ]
    return " ".join(cells)


def name_cells(room: int) -> int:
    """Cells of the name in a line of `room` cells."""
    return max(8, min(40, room - 57 - (_bar_cells(room) + 1 if _bar_cells(room) else 0)))


def _bar_cells(room: int) -> int:
    return BAR if room >= BAR_FROM else 0


def head_text(room: int) -> str:
    """What stands over the columns of `job_text`."""
    titles = [("kind", 5), ("name", name_cells(room)), ("state", 9), _progress_title(room)]
    numbers = [("step", 9), ("step/s", 6), ("left", 7)]
    left = [pad(title, cells) for title, cells in titles]
    return " ".join(left + [pad(title, cells, right=True) for title, cells in numbers]) + "  place"


def _progress_title(room: int) -> tuple[str, int]:
    return ("progress", BAR + 5) if _bar_cells(room) else ("done", 4)


def progress_bar(done: float | None, cells: int = BAR) -> str:
    """A bar of `cells`, if any, and a percentage: always of the same width."""
    if done is None:
        return pad("-", cells + 5 if cells else 4)
    done = max(0.0, min(done, 1.0))
    full = int(done * cells)
    bar = f"{'█' * full}{'·' * (cells - full)} " if cells else ""
    return f"{bar}{int(100 * done):3d}%"


def watch_jobs(
    workspace: Path,
    post: Callable[["Sequence[Progress]", bool], None],
    stop: threading.Event,
    wake: threading.Event,
    starts: bool,
) -> None:
    """Read the line again and again; tells it only when it is another one.

    With `starts`, what waits does not wait for nobody: a supervisor that is gone is replaced.
    """
    from sessions.paths import Workspace
    from sessions.progress import jobs
    from sessions.queue import paused

    place, last, again = Workspace(workspace), None, 0.0
    while not stop.is_set():
        wake.clear()
        try:
            now = (jobs(place), paused(place))
        except OSError:
            now = last or ([], False)
        if now != last:
            last = now
            post(*now)
        if starts and time.monotonic() >= again and _stands(place, *now):
            again = time.monotonic() + RESTART_S
        wake.wait(POLL_S if now[0] else IDLE_S)


def _stands(place: "Workspace", jobs: "Sequence[Progress]", paused: bool) -> bool:
    """Whether something waited and nobody was there to start it; then somebody is sent for."""
    from sessions.errors import SessionError
    from sessions.supervise import ensure_supervisor, supervised

    if paused or all(job.state != "queued" for job in jobs) or supervised(place):
        return False
    with suppress(SessionError):
        ensure_supervisor(place)
    return True
