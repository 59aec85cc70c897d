"""Measuring runs that have no per-family figures yet, with progress on stderr."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .fields import Run
from .render import clean

if TYPE_CHECKING:
    from sessions.catalogue import Catalogue, Listing

Report = Callable[[str, int, int], None]  # a run's name, units done, units in all


def lacks_figures(run: Run) -> bool:
    """Whether a run has ended and has no per-family figures."""
    return run["balanced"] is None and run["state"] in ("finished", "stopped")


def worth_measuring(runs: Iterable[Run], folders: Mapping[str, Path]) -> list[Run]:
    """The runs that have their final weights but no per-family figures."""
    from sessions.runfiles import has_policy

    return [run for run in runs if lacks_figures(run) and has_policy(folders[run["id"]])]


def measure_missing(catalogue: "Catalogue", listing: "Listing", most: int) -> "Listing":
    """The listing with up to `most` missing evaluations made; what fails is a problem."""
    from sessions.evaluation_child import EvaluationError

    missing = worth_measuring(listing.runs, listing.folders)
    if not missing[:most]:
        return listing
    problems = []
    with reporting(len(missing[:most])) as report:
        for run in missing[:most]:
            folder = listing.folders[run["id"]]
            try:
                catalogue.evaluations.measure(folder, partial(report, run["name"]))
            except EvaluationError as error:
                problems.append({"path": str(folder), "message": f"not measured: {error}"})
    after = catalogue.scan()
    after.problems.extend(problems)
    if len(missing) > most:
        left = f"{len(missing) - most} more runs have no per-family figures: --evaluate N"
        print(f"note: {left} measures N of them", file=sys.stderr)
    return after


@contextmanager
def reporting(count: int) -> Iterator[Report]:
    """A progress bar on a terminal's stderr, else a plain line a run."""
    if sys.stderr.isatty():
        with _bar(count) as report:
            yield report
    else:
        started: list[str] = []

        def line(name: str, done: int, total: int) -> None:
            if name not in started:
                started.append(name)
                print(f"measuring {clean(name)} ({len(started)}/{count})", file=sys.stderr)

        yield line


@contextmanager
def _bar(count: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("measuring {task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        started: dict[str, None] = {}
        task = progress.add_task("", total=None)

        def move(name: str, done: int, total: int) -> None:
            started[name] = None
            label = f"{clean(name)[:30]} ({len(started)}/{count})"
            progress.update(task, description=label, completed=done, total=total)

        yield move
