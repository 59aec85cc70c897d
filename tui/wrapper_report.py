"""What a wrapper does to the reward, as text."""

from collections.abc import Iterator, Mapping
from typing import Any

from .render import figure
from .table import layout

_HEAD = ["FAMILY", "n", "raw", "wrapped", "change", "least", "most", "changed", "r"]


def report_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """One row a family: mean reward before and after, and the change."""
    rows = [[name, *_cells(row)] for name, row in found["families"].items()]
    yield from layout([_HEAD, *rows, ["all", *_cells(found["overall"])]], None)
    yield ""
    yield "raw, wrapped: mean reward of reference samples; change: wrapped - raw; r: Pearson."
    if not found["deterministic"]:
        yield "note: two calls gave different rewards, so runs with it cannot be repeated"


def _cells(row: Mapping[str, Any]) -> list[str]:
    keys = ("n", "raw_mean", "wrapped_mean", "change_mean", "change_min", "change_max")
    share = f"{100 * row['changed_share']:.0f} %"
    return [*(figure(row[key]) for key in keys), share, figure(row["pearson"])]
