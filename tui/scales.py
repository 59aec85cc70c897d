"""Axes: which range to show, where the ticks stand, how a value becomes a place. No Textual."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A range of finite numbers, linear or logarithmic, with its ticks."""

    low: float
    high: float
    log: bool
    ticks: list[tuple[float, str]]

    def place(self, value: float) -> float | None:
        """Where `value` lies, 0 at the low end and 1 at the high; None if it has no place."""
        if not math.isfinite(value) or (self.log and value <= 0):
            return None
        low, high, value = (self._scaled(v) for v in (self.low, self.high, value))
        span = high - low
        return (value - low) / span if span else 0.5

    def _scaled(self, value: float) -> float:
        # a quarter, so that the difference of two values near 1e308 does not overflow
        return math.log10(value) if self.log else value / 4


def axis_over(values: Iterable[float], log: bool, most_ticks: int) -> Axis:
    """An axis that shows all finite `values` (on a log axis: all above 0)."""
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
    low, high = (min(usable), max(usable)) if usable else (1.0 if log else 0.0, 1.0)
    if low == high:
        low, high = _around(low, log)
    ticks = _decades(low, high, most_ticks) if log else _rounds(low, high, most_ticks)
    return Axis(low, high, log, ticks)


def _around(value: float, log: bool) -> tuple[float, float]:
    if log:
        return value / 2 or value, min(value * 2, 1.7e308)
    margin = abs(value) / 10 or 0.5
    return value - margin, value + margin


def _rounds(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """At most `most` ticks at 1, 2 or 5 times a power of ten, as many as can be."""
    span = high / 4 - low / 4
    if not span > 1e-300 or span > 1e307:
        return [(low, f"{low:.1e}"), (high, f"{high:.1e}")][: max(0, most)]
    power = 10.0 ** math.floor(math.log10(4 * span / most))
    for step in (power * m for m in (1, 2, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [(n * step, tick_label(n * step, step)) for n in range(first, last + 1)]
    return []


def _decades(low: float, high: float, most: int) -> list[tuple[float, str]]:
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first < 1:
        marks = [m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5)]
        inside = [v for v in marks if low <= v <= high]
    else:
        inside = [10.0**p for p in range(first, last + 1)]
    stride = max(1, math.ceil(len(inside) / max(1, most)))
    return [(value, f"{value:.4g}") for value in inside[::stride]]


def tick_label(value: float, step: float) -> str:
    """A tick's label with the decimals that its step needs."""
    if abs(value) >= 1e6 or step < 1e-4:
        return f"{value:.1e}" if value else "0"
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{places}f}"
