"""The line of runs and jobs as rows and as text."""

from collections.abc import Iterator, Sequence
from typing import Any

from sessions.paths import Workspace
from sessions.progress import jobs

from .render import figure, plain
from .table import layout

_HEAD = ["ID", "kind", "state", "step", "steps/s", "left", ""]


def job_rows(workspace: Workspace) -> list[dict[str, Any]]:
    """One object per run or job of the line, what runs first."""
    return [vars(one) for one in jobs(workspace)]


def job_lines(rows: Sequence[dict[str, Any]], paused: bool) -> Iterator[str]:
    """The same as text."""
    if rows:
        yield from layout([_HEAD, *map(_cells, rows)], None, texts=(1, 2))
    else:
        yield "nothing runs and nothing waits"
    if paused:
        yield "paused: nothing more starts until `rlhf-tui jobs go`"


def _cells(row: dict[str, Any]) -> list[str]:
    done = f"{plain(row['step'])}/{plain(row['steps'])}" if row["steps"] is not None else "-"
    note = row["reason"] or (f"place {row['place']}" if row["place"] else "")
    left = duration(row["left_s"]) if row["state"] == "running" else "-"
    speed = figure(row["steps_per_s"]) if row["state"] == "running" else "-"
    return [row["id"], row["kind"], row["state"], done, speed, left, note]


def duration(seconds: float | None) -> str:
    """Seconds in one or two units: 42s, 7m, 3h 20m."""
    if seconds is None:
        return "-"
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{seconds:.0f}s"
    return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02d}m"
