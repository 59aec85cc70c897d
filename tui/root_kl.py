"""Reward against root-KL: curves, evaluated checkpoints, best-of-n. No Textual here.

The abscissa is the square root of the per-sequence k1 estimate in nats. An estimate can be
negative; such rows have no root, are left out, and are counted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .curves import OVERALL, Curve, titled
from .plotting import Series
from .render import NONE, clean, figure, fit, number_of, with_error
from .table import layout, to_csv

if TYPE_CHECKING:
    from .place import Place

BEST_OF_N = 7  # the slot of its curve
TITLE = "root KL (sqrt of per-sequence k1, nats)"
M = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """An evaluated checkpoint, or best-of-n: its label, KL and proxy; its step or its n."""

    label: str
    kl: float
    proxy: M
    at: int | None = None

    @property
    def root(self) -> float | None:
        """The square root of the KL, where there is one."""
        return math.sqrt(self.kl) if 0 <= self.kl < math.inf else None


@dataclass(frozen=True)
class Found:
    """By scope: the evaluated checkpoints of each run, and best-of-n; what is still lacking."""

    points: Mapping[str, Mapping[str, Sequence[Point]]] = field(default_factory=dict)
    best: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    lacking: Sequence[tuple[str, Path]] = ()
    failure: str = ""


def trajectory(curve: Curve, scope: str) -> tuple[list[float], list[float], int]:
    """Root-KL and proxy of the log rows in their order, and how many rows are left out."""
    pairs, left_out = [], 0
    rows = zip(curve.series("KL", scope), curve.series("proxy", scope), strict=True)
    for kl, proxy in rows:
        if kl is None or proxy is None:
            continue
        if kl < 0 or not math.isfinite(kl) or not math.isfinite(proxy):
            left_out += 1
        else:
            pairs.append((math.sqrt(kl), proxy))
    return [x for x, _ in pairs], [y for _, y in pairs], left_out


def series_of(points: Sequence[Point], slot: int, line: bool) -> Series:
    """Points as a series; those whose KL has no root are left out."""
    pairs = [(p.root, p.proxy.get("mean")) for p in points if p.root is not None]
    known = sorted((x, y) for x, y in pairs if isinstance(y, int | float) and math.isfinite(y))
    return Series(slot, [x for x, _ in known], [y for _, y in known], line=line)


def points_of(evaluated: Sequence[tuple[int | None, M]], scope: str) -> list[Point]:
    """The points of a run's evaluated checkpoints in a scope."""
    points = []
    for step, found in evaluated:
        figures = found["balanced"] if scope == OVERALL else found["families"].get(scope)
        if figures and isinstance(figures["kl"].get("mean"), int | float):
            label = "final" if step is None else f"step {step}"
            points.append(Point(label, float(figures["kl"]["mean"]), figures["proxy"], step))
    return points


def best_points(document: M, scope: str) -> list[Point]:
    """Best-of-n in a scope."""
    rows = document["overall"] if scope == OVERALL else document["families"].get(scope) or []
    return [Point(f"best of {row['n']}", row["kl"], row["proxy"], row["n"]) for row in rows]


def gather(
    place: "Place",
    runs: Mapping[str, Path],
    scopes: Sequence[str],
    cancel: Any = None,
    best_of_n: bool = True,
) -> Found:
    """What is evaluated, and best-of-n, which is computed if need be.

    Raises SessionError, CommandError or OSError.
    """
    from sessions.frontier import Frontier
    from sessions.paths import Workspace

    made = Frontier(place.checked_task(), Workspace(place.workspace), not place.read_only)
    both = {key: made.points(folder) for key, folder in runs.items()}
    points = {
        scope: {key: points_of(there, scope) for key, (there, _) in both.items()}
        for scope in scopes
    }
    lacking = [
        (key if path == runs[key] else f"{key} {path.name}", path)
        for key, (_, left) in both.items()
        for path in left
    ]
    document = made.best_of_n(cancel) if best_of_n else None
    best = {scope: best_points(document, scope) for scope in scopes} if document else {}
    return Found(points, best, lacking)


def look(place: "Place", runs: Mapping[str, Path], scopes: Sequence[str], cancel: Any) -> Found:
    """What `gather` finds, or why it finds nothing. For a worker."""
    from sessions.errors import SessionError

    from .exits import CommandError

    try:
        return gather(place, runs, scopes, cancel)
    except (SessionError, CommandError, OSError) as error:
        return Found(failure=clean(str(error)))


def table_lines(
    found: Found, scope: str, names: Mapping[str, str], left_out: int, room: int, best: int = 1
) -> list[str]:
    """The evaluated points of one scope as lines; then the last `best` points of best-of-n."""
    if found.failure:
        return [f"not evaluated: {found.failure}"]
    rows = [[f"evaluated, {titled(scope)}", "checkpoint", "KL", "root KL", "proxy", "n"]]
    for key, points in (found.points.get(scope) or {}).items():
        rows += [[fit(names.get(key, key), 30), *_cells(point)] for point in points]
    rows += [["reference", *_cells(point)] for point in (found.best.get(scope) or [])[-best:]]
    lines = layout(rows, max(20, room - 3), texts=(1,))
    if found.lacking:
        lines[0] += f"   {number_of(len(found.lacking), 'checkpoint')} not evaluated (e)"
    if left_out:
        rows_out = number_of(left_out, "log row")
        lines[0] += f"   {rows_out} left out: KL negative or not finite"
    return lines


def _cells(point: Point) -> list[str]:
    proxy = with_error(point.proxy.get("mean"), point.proxy.get("se"))
    root, n = figure(point.root), str(point.proxy.get("n") or NONE)
    return [point.label, figure(point.kl), root, proxy, n]


def csv_text(found: Found, names: Mapping[str, str]) -> str:
    """Every point: scope, run, checkpoint, KL, proxy, se, n."""
    rows: list[list[Any]] = []
    for scope in found.points:
        groups = [(names.get(k, k), points) for k, points in found.points[scope].items()]
        for name, points in [*groups, ("reference", found.best.get(scope) or [])]:
            rows += [
                [
                    scope,
                    name,
                    p.label,
                    p.kl,
                    p.proxy.get("mean"),
                    p.proxy.get("se"),
                    p.proxy.get("n"),
                ]
                for p in points
            ]
    return to_csv(["scope", "run", "checkpoint", "kl", "proxy", "proxy_se", "n"], rows)
