"""Runs in the order of a field; what is missing comes last, whichever the direction."""

from collections.abc import Iterable
from typing import Any

from .fields import Run, getter


def ordered(runs: Iterable[Run], field: str, reverse: bool = False) -> list[Run]:
    """Runs sorted by `field`, stably. Raises KeyError for an unknown field."""
    get = getter(field)
    present: list[tuple[Any, Run]] = []
    missing: list[Run] = []
    for run in runs:
        value = get(run)
        if value is None:
            missing.append(run)
        else:
            present.append((sortable(value), run))
    present.sort(key=lambda pair: pair[0], reverse=reverse)
    return [run for _, run in present] + missing


def sortable(value: Any) -> tuple[int, Any]:
    """Numbers before texts before collections, so that mixed values never fail to compare."""
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value.lower()
    if isinstance(value, dict):
        return 2, str(sorted(value.items()))
    return 2, str(value)
