"""What the curves say at one step, as lines; and all they hold, as CSV. No Textual here."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from sessions.task import REFERENCE

from .curves import OVERALL, Curve, titled
from .render import NONE, clean, exact, figure, fit
from .state import State
from .table import layout, to_csv

Panel = tuple[str, str]  # metric, scope

NO_CURVES = "the reference has no curves: training starts from it (down: next run)"


def read_out(
    state: State,
    shown: Sequence[str],
    panels: Sequence[Panel],
    at: float | None,
    room: int,
    in_full: bool = False,
) -> list[str]:
    """A heading and a line a run: its name and its values at the step `at`."""
    if at is None:
        head = NO_CURVES if list(shown) == [REFERENCE] else "no log row yet"
        return [head, *(clean(state.runs[key]["name"]) for key in shown)]
    several = len({metric for metric, _ in panels}) > 1
    tight = len(panels) > 4 and room < 100
    titles = [_title(metric, scope, several) for metric, scope in panels]
    table = [[f"training at step {at:g}", *titles, "last row", "not finite"]]
    any_bad = False
    for key in shown:
        curve = state.curves.get(key, Curve())
        values = [value_at(curve, metric, scope, at, in_full) for metric, scope in panels]
        last = f"{curve.steps[-1]:g}" if curve.steps else NONE
        bad = sum(_count_bad(curve, metric, scope) for metric, scope in panels)
        any_bad = any_bad or bad > 0
        name = fit(clean(state.runs[key]["name"]) or key, 40)
        table.append([name, *values, last, str(bad)])
    if not any_bad:
        table = [row[:-1] for row in table]
    if tight:
        table = [row[: len(panels) + 1] for row in table]
    return layout(table, max(20, room - 3))


def _title(metric: str, scope: str, several: bool) -> str:
    if scope == OVERALL:
        return metric
    return f"{titled(scope)} {metric}" if several else titled(scope)


def value_at(curve: Curve, metric: str, scope: str, at: float, in_full: bool = False) -> str:
    """The value of the last row at or before `at`; NONE beyond the curve's ends."""
    place = bisect_right(curve.steps, at) - 1
    if place < 0 or (place == len(curve.steps) - 1 and at > curve.steps[-1]):
        return NONE
    value = curve.series(metric, scope)[place]
    if value is None:
        return NONE
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{value:+}"
    return exact(value) if in_full else figure(value)


def _count_bad(curve: Curve, metric: str, scope: str) -> int:
    return sum(y is not None and not math.isfinite(y) for y in curve.series(metric, scope))


def curves_csv(state: State, shown: Sequence[str]) -> str:
    """A line a run and step; a missing or non-finite value is an empty cell."""
    curves = {key: state.curves[key] for key in shown if key in state.curves}
    keys = sorted({key for curve in curves.values() for key in curve.values})
    rows: list[list[Any]] = []
    for run, curve in curves.items():
        for place, step in enumerate(curve.steps):
            values = [curve.values.get(key, [None] * len(curve.steps))[place] for key in keys]
            rows.append([run, step, *(_finite(value) for value in values)])
    return to_csv(["run", "step", *keys], rows)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
