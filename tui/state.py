"""What the dashboard knows and what the person chose. A plain class: no Textual here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sessions.states import LIVE

from .columns import DEFAULT_COLUMNS
from .curves import EACH, METRICS, OVERALL, Curve
from .fields import FIELDS, Field, Run
from .filter import FilterError, Test, compile_filter
from .filter_pass import PASS_S, passing
from .launch_form import Draft
from .order import sortable
from .render import called, clean, width
from .watching import Watch

if TYPE_CHECKING:
    from sessions.catalogue import Listing


@dataclass(frozen=True)
class Row:
    """A line of the runs list: one run, or the seeds of one recipe."""

    key: str
    runs: tuple[Run, ...]

    @property
    def is_group(self) -> bool:
        return len(self.runs) > 1

    def values(self, field: Field) -> list[Any]:
        """The field's value in each of the runs that has one."""
        return [value for run in self.runs if (value := field.get(run)) is not None]

    def value(self, field: Field) -> Any:
        """The field's value; of a group the mean, or the first value of what is no number."""
        if not self.is_group:
            return field.get(self.runs[0])
        values = self.values(field)
        return fmean(values) if are_numbers(values) else values[0] if values else None

    def spread(self, field: Field) -> float | None:
        """Standard deviation over a group's runs; None for fewer than two values."""
        values = self.values(field)
        if len(values) < 2 or not are_numbers(values):
            return None
        mean = fmean(values)  # not statistics.stdev, which takes as long as drawing the whole list
        return math.sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def are_numbers(values: Iterable[Any]) -> bool:
    """Whether there are values and all are numbers."""
    values = list(values)
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


@dataclass
class State:
    """Runs, choices and curves. Methods change it; nothing here draws or reads files."""

    runs: dict[str, Run] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    recipes: dict[str, str | None] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)
    longest_name: int = 0  # cells
    loaded: bool = False
    trouble: str = ""  # why the runs cannot be listed at present
    marks: dict[str, None] = field(default_factory=dict)
    filter: str = ""
    sort: str | None = None
    reverse: bool = False
    grouped: bool = False
    columns: list[str] = field(default_factory=lambda: list(DEFAULT_COLUMNS))
    open_run: str | None = None
    curves: dict[str, Curve] = field(default_factory=dict)
    metric: str = "proxy"
    scope: str = OVERALL  # of the curves: overall, a family, or each
    family: str = ""  # the last one chosen: panes that show one at a time open there
    by_run: bool = False  # scores are by what a run was trained with, not the task's model
    slots: dict[str, int] = field(default_factory=dict)
    drafts: dict[str | None, Draft] = field(default_factory=dict)  # launch forms, by their parent
    watch: Watch = field(default_factory=Watch)
    logged: str | None = None  # the run or job whose log was asked for
    _test: Test = field(default=compile_filter(""))
    _held: set[str] = field(default_factory=set)  # the runs that the filter holds for
    _singles: list[Row] | None = None
    _sorted: list[Row] | None = None
    _rows: list[Row] | None = None

    def take(self, listing: "Listing") -> bool:
        """Take a scan's result; whether anything changed."""
        runs = {run["id"]: run for run in listing.runs}
        same = self.loaded and runs == self.runs and list(runs) == list(self.runs)
        before = self.runs if self.loaded else None
        self.loaded = True
        if same and listing.problems == self.problems and listing.recipes == self.recipes:
            return False
        self.runs, self.folders, self.recipes = runs, listing.folders, listing.recipes
        self.problems = listing.problems
        self.watch.compare(before, runs)
        self.longest_name = max([width(called(run)) for run in listing.runs] or [0])
        self.marks = {key: None for key in self.marks if key in runs}
        if self.open_run not in runs:
            self.open_run = None
        self._give_slots()
        self._singles = None
        self._forget_order()
        self._refilter()
        return True

    def _refilter(self) -> None:
        """Apply the filter to other runs; one that takes too long on these is given up."""
        try:
            self._held = self._passing(self._test)
        except FilterError as error:
            self.watch.note([f"the filter {clean(self.filter)} is off: {error}"])
            self.set_filter("")

    def _passing(self, test: Test, seconds: float = PASS_S) -> set[str]:
        return {run["id"] for run in passing(test, self.runs.values(), seconds)}

    def _forget_order(self) -> None:
        self._sorted = self._rows = None

    def set_filter(self, text: str, seconds: float = PASS_S) -> None:
        """Show only the runs that `text` holds for. Raises FilterError and changes nothing."""
        test = compile_filter(text)
        self._held = self._passing(test, seconds)
        self._test, self.filter, self._rows = test, text, None
        if self.grouped:
            self._sorted = None

    def columns_shown(self) -> list[str]:
        """The columns that are wanted; those of wrappers and decisions only once there is one."""
        rare = ("wrapper", "verdict")
        empty = {key for key in rare if not any(run[key] for run in self.runs.values())}
        return [key for key in self.columns if key not in empty]

    def sort_by(self, key: str | None, reverse: bool) -> None:
        """Sort by a field; None brings back the order in which runs are found."""
        self.sort, self.reverse = key, reverse
        self._forget_order()

    def group_seeds(self, grouped: bool) -> None:
        """Show runs that differ only in the seed as one row."""
        self.grouped = grouped
        self._forget_order()

    def rows(self) -> list[Row]:
        """The rows to show, in order."""
        if self._sorted is None:
            self._sorted = self._ordered(self._grouped() if self.grouped else self._single())
        if self._rows is None:
            held = self._held
            self._rows = [row for row in self._sorted if self.grouped or row.key in held]
        return self._rows

    def _single(self) -> list[Row]:
        if self._singles is None:
            self._singles = [Row(key, (run,)) for key, run in self.runs.items()]
        return self._singles

    def _grouped(self) -> list[Row]:
        groups: dict[str, dict[Any, Run]] = {}  # of a recipe, by seed
        for key, run in self.runs.items():
            if key not in self._held:
                continue
            group = groups.setdefault(self.recipes.get(key) or key, {})
            if run["seed"] in group:  # the same once more is no other seed
                group = groups.setdefault(f"again:{key}", {})
            group[run["seed"]] = run
        rows = ((key, tuple(group.values())) for key, group in groups.items())
        return [Row(f"seeds:{key}" if len(g) > 1 else g[0]["id"], g) for key, g in rows]

    def _ordered(self, rows: list[Row]) -> list[Row]:
        if self.sort is None:
            return rows[::-1] if self.reverse else rows
        wanted = FIELDS[self.sort]
        get = wanted.get
        valued = [(row.value(wanted) if row.is_group else get(row.runs[0]), row) for row in rows]
        present = [(sortable(value), row) for value, row in valued if value is not None]
        present.sort(key=itemgetter(0), reverse=self.reverse)
        return [row for _, row in present] + [row for value, row in valued if value is None]

    def toggle_marks(self, keys: Iterable[str]) -> None:
        """Mark the runs; if all are marked already, unmark them."""
        keys = list(keys)
        if all(key in self.marks for key in keys):
            for key in keys:
                del self.marks[key]
        else:
            self.marks |= dict.fromkeys(keys)
        self._give_slots()

    def overlaid(self) -> list[str]:
        """The runs whose curves are shown: the open one first, then the marked ones."""
        first = [self.open_run] if self.open_run else []
        return [*first, *(key for key in self.marks if key != self.open_run)]

    def living(self) -> list[str]:
        """The names of the runs that wait or run."""
        return [run["name"] for run in self.runs.values() if run["state"] in LIVE]

    def open(self, key: str) -> None:
        """Make `key` the run that the run view shows."""
        self.open_run = key
        self._give_slots()

    def look_at(self, scope: str) -> None:
        """Show the curves of a scope, by a metric that it has."""
        self.scope = scope
        if scope != OVERALL and not METRICS[self.metric][2]:
            self.metric = "proxy"
        if scope not in (OVERALL, EACH):
            self.family = scope

    def turn_family(self, families: Sequence[str], by: int) -> None:
        """Choose another of these families, for every pane."""
        if len(families) > 1:
            here = families.index(self.family_of(families))
            self.look_at(families[(here + by) % len(families)])

    def family_of(self, families: Sequence[str]) -> str:
        """The one of these that is shown: the chosen one, else the first."""
        return self.family if self.family in families else next(iter(families), "")

    def _give_slots(self) -> None:
        """Colours and glyphs: a run keeps its own as long as it is shown."""
        shown = self.overlaid()
        self.slots = {key: slot for key, slot in self.slots.items() if key in shown}
        for key in shown:
            if key not in self.slots:
                taken = set(self.slots.values())
                self.slots[key] = next(n for n in range(len(taken) + 1) if n not in taken)

    def forget_curves(self) -> None:
        """Drop the curves of runs that are not shown any more."""
        shown = self.overlaid()
        self.curves = {key: curve for key, curve in self.curves.items() if key in shown}
