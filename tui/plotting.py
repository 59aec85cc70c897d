"""Curves as characters in a grid: axes, lines, true gaps, marked non-finite points. No Textual.

A grid cell is (character, owner): the owner is a series' index, or AXIS, MARK or CURSOR.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .marks import NOT_FINITE
from .scales import Axis, axis_over

AXIS, CURSOR, BLANK = -1, -2, -3
GAP = 3.0  # a distance between rows this many times the median is a gap
MOST_POINTS = 2000  # of a series that are drawn; more are thinned
GLYPHS = "●▲■◆○△□◇"
LETTERS = "*o+x#@%&"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # [row][column] of a braille cell

Grid = list[list[tuple[str, int]]]


@dataclass(frozen=True)
class Series:
    """One line: `slot` chooses glyph and colour; a y of None is missing, NaN or inf is marked."""

    slot: int
    xs: Sequence[float]
    ys: Sequence[float | None]
    line: bool = True  # else each point is a glyph of its own
    gaps: bool = True  # whether a wide step in x breaks the line; x may then go back and forth


@dataclass(frozen=True)
class Options:
    """How to draw: size in cells, axes, and the x of the cursor if there is one."""

    width: int
    height: int
    log: bool = False
    ascii: bool = False
    cursor: float | None = None


@dataclass(frozen=True)
class Drawing:
    """A drawn plot, and what of the data could not be shown on its y axis."""

    grid: Grid
    left: int  # cells before the plotting area
    x: Axis
    nonfinite: int
    not_positive: int


def draw(series: Sequence[Series], options: Options) -> Drawing:
    """Draw all series over common axes."""
    ys = [y for one in series for y in one.ys if y is not None]
    nonfinite = sum(not math.isfinite(y) for y in ys)
    not_positive = sum(math.isfinite(y) and y <= 0 for y in ys) if options.log else 0
    height = max(1, options.height - 2)
    y_axis = axis_over(ys, options.log, max(2, height // 2))
    labels = {_row(y_axis, value, height): text for value, text in y_axis.ticks}
    left = min(max([len(text) for text in labels.values()] or [1]) + 1, options.width // 2)
    width = max(1, options.width - left - 1)
    xs = [x for one in series for x in one.xs]
    x_axis = axis_over(xs, False, max(1, width // 10))
    canvas = _Canvas(width, height, options.ascii)
    canvas.cursor(x_axis, options.cursor)
    for one in series:
        canvas.line(one, x_axis, y_axis)
    grid = _framed(canvas.cells(), labels, left, x_axis, width)
    return Drawing(cropped(grid, options), left + 1, x_axis, nonfinite, not_positive)


def _row(axis: Axis, value: float, height: int) -> int:
    place = axis.place(value)
    return round((1 - (0.5 if place is None else place)) * (height - 1))


def _framed(inner: Grid, labels: dict[int, str], left: int, x: Axis, width: int) -> Grid:
    """The plotting area with its y labels, its x axis and the x labels."""
    grid: Grid = []
    for row, cells in enumerate(inner):
        text = labels.get(row, "").rjust(left)[-left:] if left else ""
        edge = "┤" if row in labels else "│"
        grid.append([(c, AXIS) for c in text + edge] + cells)
    base, marks = ["─"] * width, [" "] * width
    free = 0
    for value, text in x.ticks:
        place = x.place(value)
        column = round((place or 0.0) * (width - 1))
        base[column] = "┬"
        start = max(0, min(column - len(text) // 2, width - len(text)))
        if start >= free:
            marks[start : start + len(text)] = text
            free = start + len(text) + 1
    pad = " " * left
    grid.append([(c, AXIS) for c in pad + "└" + "".join(base)])
    grid.append([(c, AXIS) for c in pad + " " + "".join(marks)])
    return grid


def cropped(grid: Grid, options: Options) -> Grid:
    """The grid at exactly the size that was asked for."""
    blank = (" ", BLANK)
    rows = [(row + [blank] * options.width)[: options.width] for row in grid[: options.height]]
    return rows + [[blank] * options.width for _ in range(options.height - len(rows))]


class _Canvas:
    """Braille dots, two by four to a cell, or one letter a cell in ASCII."""

    def __init__(self, width: int, height: int, ascii: bool) -> None:
        self._width, self._height, self._ascii = width, height, ascii
        self._across, self._down = (1, 1) if ascii else (2, 4)
        self._dots: dict[tuple[int, int], tuple[int, int]] = {}  # cell: braille bits, owner
        self._over: dict[tuple[int, int], tuple[str, int]] = {}  # cell: glyph, owner
        self._under: dict[tuple[int, int], tuple[str, int]] = {}

    def cursor(self, x_axis: Axis, at: float | None) -> None:
        """A vertical line under the curves."""
        place = None if at is None else x_axis.place(at)
        if place is not None and 0 <= place <= 1:
            column = round(place * (self._width - 1))
            for row in range(self._height):
                self._under[column, row] = ("┊", CURSOR)

    def line(self, series: Series, x_axis: Axis, y_axis: Axis) -> None:
        """A series: lines between neighbours, a glyph where it ends, marks where not finite."""
        before: tuple[int, int] | None = None
        end: tuple[int, int] | None = None
        last_x: float | None = None
        widest = GAP * _median_step(series.xs) if series.gaps else math.inf
        for x, y in thinned(series):
            place = self._place(x_axis, y_axis, x, y)
            if place is not None and not series.line:
                self._glyph(place, series.slot)
            elif place is None:
                self._mark_nonfinite(series, x_axis, x, y)
            elif before is None or last_x is None or x - last_x > widest:
                self._dot(*place, series.slot)
            else:
                for column, row in _between(before, place):
                    self._dot(column, row, series.slot)
            before, last_x = place, x
            end = place or end
        if end is not None:
            self._glyph(end, series.slot)

    def _glyph(self, place: tuple[int, int], slot: int) -> None:
        cell = (place[0] // self._across, place[1] // self._down)
        self._over[cell] = (glyph(slot, self._ascii), slot)

    def _place(
        self, x_axis: Axis, y_axis: Axis, x: float, y: float | None
    ) -> tuple[int, int] | None:
        right = x_axis.place(x)
        up = None if y is None else y_axis.place(y)
        if right is None or up is None:
            return None
        columns, rows = self._width * self._across - 1, self._height * self._down - 1
        return round(right * columns), round((1 - up) * rows)

    def _mark_nonfinite(self, series: Series, x_axis: Axis, x: float, y: float | None) -> None:
        right = x_axis.place(x)
        if y is None or math.isfinite(y) or right is None:
            return
        row = self._height - 1 if y == -math.inf else 0
        self._over[round(right * (self._width - 1)), row] = (NOT_FINITE, series.slot)

    def _dot(self, column: int, row: int, owner: int) -> None:
        cell = (column // self._across, row // self._down)
        bits = self._dots.get(cell, (0, owner))[0]
        bit = 0 if self._ascii else _DOTS[row % 4][column % 2]
        self._dots[cell] = (bits | bit, owner)

    def cells(self) -> Grid:
        """The area as rows of cells."""
        return [[self._cell(c, r) for c in range(self._width)] for r in range(self._height)]

    def _cell(self, column: int, row: int) -> tuple[str, int]:
        over = self._over.get((column, row))
        if over:
            return over
        dots = self._dots.get((column, row))
        if dots:
            bits, owner = dots
            return (LETTERS[owner % 8] if self._ascii else chr(0x2800 + bits)), owner
        return self._under.get((column, row), (" ", BLANK))


def glyph(slot: int, ascii: bool) -> str:
    """The mark of the series in `slot`."""
    return (LETTERS if ascii else GLYPHS)[slot % 8]


def _between(a: tuple[int, int], b: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The dots of a straight line, both ends included."""
    count = max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)
    for k in range(count + 1):
        yield round(a[0] + (b[0] - a[0]) * k / count), round(a[1] + (b[1] - a[1]) * k / count)


def _median_step(xs: Sequence[float]) -> float:
    steps = sorted(b - a for a, b in zip(xs, xs[1:], strict=False))
    return steps[len(steps) // 2] if steps else math.inf


def thinned(series: Series) -> list[tuple[float, float | None]]:
    """The points, or of every stretch its extremes and what is missing, at most some 2,000."""
    points = list(zip(series.xs, series.ys, strict=False))
    if len(points) <= MOST_POINTS:
        return points
    size = math.ceil(len(points) / (MOST_POINTS // 2))
    kept: list[tuple[float, float | None]] = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        odd = [p for p in part if p[1] is None or not math.isfinite(p[1])]
        even = [(p[1], p[0]) for p in part if p[1] is not None and math.isfinite(p[1])]
        extremes = {(x, y) for y, x in (min(even), max(even))} if even else set()
        kept += sorted([*extremes, *odd[:1]], key=lambda p: p[0])
    return kept
