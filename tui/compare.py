"""In which settings runs differ, and their figures side by side, as lines and as a document."""

from collections.abc import Mapping, Sequence
from typing import Any

from .fields import Run
from .render import NONE, clean, fit, mix
from .table import layout

Differences = Sequence[tuple[str, Mapping[str, Any]]]


def difference_lines(found: Differences, runs: Mapping[str, Run]) -> list[str]:
    """A heading, then a line a run: its value of every setting that is not the same in all."""
    if not found:
        return ["They do not differ in any setting."]
    keys = [key for key, _ in found]
    rows = [["run", *keys]]
    for run in found[0][1]:
        name = clean(runs[run]["name"]) if run in runs else run
        rows.append([fit(name, 32), *(shown(values[run]) for _, values in found)])
    return layout(rows, None)


def shown(value: Any) -> str:
    """A setting in brief."""
    if value is None:
        return NONE
    if isinstance(value, dict):
        return mix(value)
    text = clean(str(value))
    return fit(text.rsplit("/", 1)[-1], 24)
