"""What `compare` does: the settings in which runs differ, and their figures side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .compare import Differences, difference_lines, differences
from .deciding import ERRORS
from .fields import FIELDS, Field, Run
from .place import Place
from .pollers import read_configs
from .render import called, exact, fit, with_error
from .table import layout, to_csv

FIGURES = [key for key, field in FIELDS.items() if field.error or field.group == "dev"]


@dataclass(frozen=True)
class Comparison:
    """Runs in the order they were named, and the settings that are not the same in all."""

    runs: list[Run]
    configured: list[str]  # ids of those that have settings
    differing: Differences

    def document(self) -> dict[str, Any]:
        """The document of `compare --json`, without its format."""
        return {"runs": self.runs, "differences": dict(self.differing)}


def compared(place: Place, ids: Sequence[str]) -> Comparison:
    """The runs' facts and differences. The reference has no settings, so it has no say there."""
    listing = place.catalogue().scan()
    runs = {run["id"]: run for run in listing.runs}
    configs = read_configs({key: listing.folders[key] for key in ids}, place.task)
    return Comparison([runs[key] for key in ids], list(configs), differences(configs))


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Two blocks: settings, figures with their n; a column a run."""
    configured = {run["id"]: run for run in found.runs if run["id"] in found.configured}
    yield from difference_lines(found.differing, configured)
    yield ""
    rows = [["figure", *(fit(called(run), 20) for run in found.runs)]]
    for key in FIGURES:
        rows.append([key, *(_cell(FIELDS[key], run) for run in found.runs)])
    yield from layout(rows, None)
    yield ERRORS


def _cell(field: Field, run: Run) -> str:
    """`1.75±<.01 n=4800`."""
    error, count = (get(run) if get else None for get in (field.error, field.count))
    shown = with_error(field.get(run), error)
    return shown if count is None else f"{shown} n={exact(count)}"


def comparison_csv(found: Comparison) -> str:
    """A line a figure, a column a run, unrounded."""
    rows = [[key, *(FIELDS[key].get(run) for run in found.runs)] for key in FIGURES]
    return to_csv(["figure", *(run["id"] for run in found.runs)], rows)
