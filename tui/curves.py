"""A run's curves, read from its log.jsonl as it grows. No Textual here."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlhf.runlog import parse_lines
from rlhf.vocab import FAMILIES

from .render import clean, fit

METRICS = {  # name: the log's key, unit, whether families have it
    "proxy": ("proxy_reward", "RM score", True),
    "KL": ("kl", "nats, k1", True),
    "shaped": ("shaped_reward", "RM score", False),
    "entropy": ("entropy", "nats a token", False),
}
OVERALL = "overall"
EACH = "each family"
LONGEST_NAME = 24  # cells of a family's name
CHUNK = 1 << 20  # bytes read in one go

Values = dict[str, list[float | None]]  # None: not logged; NaN or inf: logged, not finite


@dataclass(frozen=True)
class Curve:
    """The metrics of one run by completed updates. A snapshot: never changed once made."""

    steps: list[float] = field(default_factory=list)
    values: Values = field(default_factory=dict)
    bad_lines: int = 0

    def series(self, metric: str, scope: str) -> list[float | None]:
        """The values of a metric, overall or of a family; all None if it was never logged."""
        return self.values.get(key_of(metric, scope)) or [None] * len(self.steps)


def families(curves: Iterable[Curve]) -> list[str]:
    """The families of the task, and those that only these curves have: others' runs have others."""
    keys = {key for curve in curves for key in curve.values if "." in key}
    logged = {key.rpartition(".")[0] for key in keys}
    return [*FAMILIES, *sorted(name for name in logged - {*FAMILIES, OVERALL} if name.strip())]


def titled(scope: str) -> str:
    """A scope's name as it is shown: a family of others may be called anything."""
    return fit(clean(scope), LONGEST_NAME)


def key_of(metric: str, scope: str) -> str:
    """The name of a metric's values: `kl`, or `dune.kl` of a family."""
    key = METRICS[metric][0]
    return key if scope == OVERALL else f"{scope}.{key}"


class Follower:
    """Reads what was added to a log since the last look; starts anew if the log was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._restart()
        self._inode: tuple[int, int] | None = None

    def _restart(self) -> None:
        self._offset = 0
        self._torn = b""
        self._rows: list[tuple[float, dict[str, float]]] = []
        self._bad = 0

    def look(self) -> Curve | None:
        """The curve if it changed since the last look, else None. Raises OSError."""
        stat = os.stat(self._path)
        inode = (stat.st_dev, stat.st_ino)
        anew = inode != self._inode or stat.st_size < self._offset
        if anew:
            self._restart()
            self._inode = inode
        before = (len(self._rows), self._bad)
        self._read(stat.st_size)
        if not anew and before == (len(self._rows), self._bad):
            return None
        return self._curve()

    def _read(self, size: int) -> None:
        if size <= self._offset:  # nor is a pipe opened, which would be waited for
            return
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            while self._offset < size:
                data = file.read(min(CHUNK, size - self._offset))
                if not data:
                    break
                self._offset += len(data)
                *lines, self._torn = (self._torn + data).split(b"\n")
                self._take(lines)

    def _take(self, lines: list[bytes]) -> None:
        # a complete line that is no JSON is damage, also at the end: hence the extra line
        log = parse_lines([*lines, b"{}"])
        self._bad += len(log.problems)
        for row in log.rows[:-1]:
            step = row.get("step")
            if isinstance(step, int | float) and math.isfinite(step):
                self._forget_from(step)
                self._rows.append((float(step), dict(_figures(row))))
            else:
                self._bad += 1

    def _forget_from(self, step: float) -> None:
        """A resumed run logs steps again: the later rows stand."""
        while self._rows and self._rows[-1][0] >= step:
            self._rows.pop()

    def _curve(self) -> Curve:
        keys = {key for _, figures in self._rows for key in figures}
        values: Values = {key: [figures.get(key) for _, figures in self._rows] for key in keys}
        return Curve([step for step, _ in self._rows], values, self._bad)


def _figures(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a row by key; null is what a trainer writes for a non-finite one.

    A family of which no prompt was drawn (n 0) has no number: that is a gap.
    """
    for key, _, has_families in METRICS.values():
        if key in row:
            yield key, _number(row[key])
        families = row.get("families")
        if has_families and isinstance(families, dict):
            for family, figures in families.items():
                if isinstance(figures, dict) and key in figures and figures.get("n") != 0:
                    yield f"{family}.{key}", _number(figures[key])


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
