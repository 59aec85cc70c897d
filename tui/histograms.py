"""Histograms of several sources over common bins, as characters in a grid. No Textual here.

The first source may be the ground: grey bars. The others are drawn before it: a stem for each
bin with the source's glyph on top, so that they are told apart without colour.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .plotting import AXIS, BLANK, CURSOR, Grid, Options, cropped, glyph
from .render import fit
from .scales import Axis, axis_over

GROUND = -4  # the owner of the ground's cells
_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Bars:
    """Counts by bin; `slot` chooses glyph and colour, GROUND is drawn as bars."""

    slot: int
    counts: Sequence[int]


@dataclass(frozen=True)
class Picture:
    """A histogram with what is said over it; texts are clean."""

    title: str
    note: str
    bars: Sequence[Bars]
    edges: Sequence[float]
    log: bool
    cursor: int | None
    look: str


EMPTY = Picture("", "", (), (), False, None, "dark")


@dataclass(frozen=True)
class Layout:
    """Which bins share a column (`bins`), and how many cells a column has (`cells`)."""

    bins: int
    cells: int

    def span(self, at: int, count: int) -> range:
        """The bins of the column in which bin `at` of `count` lies."""
        first = at // self.bins * self.bins
        return range(first, min(first + self.bins, count))


def arranged(count: int, room: int) -> Layout:
    """The layout of so many bins in so many cells."""
    bins = max(1, math.ceil(count / max(1, room)))
    return Layout(bins, max(1, room // max(1, math.ceil(count / bins))))


def merged(counts: Sequence[int], bins: int) -> list[int]:
    """Counts of `bins` neighbours each."""
    return [sum(counts[at : at + bins]) for at in range(0, len(counts), bins)]


@dataclass(frozen=True)
class Drawing:
    """A drawn histogram and its layout."""

    grid: Grid
    layout: Layout


def draw(sources: Sequence[Bars], edges: Sequence[float], options: Options) -> Drawing:
    """Draw all sources; every bin that is not empty shows, however low."""
    height = max(1, options.height - 2)
    left = margin(sources, options.log, options.width)
    layout = arranged(len(edges) - 1, options.width - left - 1)
    columns = [merged(one.counts, layout.bins) for one in sources]
    axis = _axis(columns, options.log, height)
    width = len(columns[0]) * layout.cells if columns else 0
    inner: Grid = [[(" ", BLANK)] * width for _ in range(height)]
    if options.cursor is not None:
        _draw_cursor(inner, int(options.cursor) // layout.bins * layout.cells)
    for one, counts in zip(sources, columns, strict=True):
        for column, count in enumerate(counts):
            if count:
                cells = range(column * layout.cells, (column + 1) * layout.cells)
                _bar(inner, cells, _height(count, axis, height), one.slot, options.ascii)
    grid = _framed(inner, axis, edges, left, width, options, layout)
    return Drawing(cropped(grid, options), layout)


def margin(sources: Sequence[Bars], log: bool, width: int) -> int:
    """Cells before the axis: the widest count on it, however the bins are merged."""
    most = max([sum(one.counts) for one in sources] or [1])
    return min(len(str(most)), width // 2)


def _axis(columns: Sequence[Sequence[int]], log: bool, height: int) -> Axis:
    top = max([count for counts in columns for count in counts] or [1]) or 1
    if not log:
        axis = axis_over([0.0, float(top)], False, max(2, height // 3))
        ticks = [tick for tick in axis.ticks if tick[0] < 0.8 * top]
        return Axis(0.0, float(top), False, [*ticks, (float(top), str(top))])
    ticks = [(float(10**p), str(10**p)) for p in range(len(str(top)))]
    return Axis(0.5, float(max(top, 2)), True, ticks)  # a half, so that a single score shows


def _height(count: int, axis: Axis, height: int) -> float:
    """The height of a bar in cells, at least an eighth."""
    return max(0.125, height * (axis.place(count) or 0.0))


def _bar(grid: Grid, cells: range, size: float, slot: int, ascii: bool) -> None:
    top = len(grid) - math.ceil(size)
    for column in cells:
        for row in range(max(0, top), len(grid)):
            here, owner = grid[row][column]
            if slot == GROUND:
                part = 8 if row > top else max(1, round(8 * (size - math.ceil(size) + 1)))
                grid[row][column] = ("%" if ascii else _BLOCKS[part], GROUND)
            elif row == top:
                grid[row][column] = (glyph(slot, ascii), slot)
            elif owner in (BLANK, CURSOR):
                grid[row][column] = ("│", slot)


def _draw_cursor(grid: Grid, column: int) -> None:
    for cells in grid:
        if column < len(cells):
            cells[column] = ("┊", CURSOR)


def _framed(
    inner: Grid,
    axis: Axis,
    edges: Sequence[float],
    left: int,
    width: int,
    options: Options,
    layout: Layout,
) -> Grid:
    """The bars with the counts to their left, and under them the scores."""
    height = len(inner)
    labels = {
        min(height - 1, height - math.ceil(_height(int(value), axis, height))): text
        for value, text in axis.ticks
        if value == int(value)
    }
    grid: Grid = []
    for row, cells in enumerate(inner):
        text = fit(labels.get(row, ""), left).rjust(left)
        grid.append([(c, AXIS) for c in text + ("┤" if row in labels else "│")] + cells)
    base, marks = _score_axis(edges, width)
    if options.cursor is not None and width:
        at = min(int(options.cursor) // layout.bins * layout.cells, width - 1)
        base[at] = "▲"
    grid.append([(c, AXIS) for c in " " * left + "└" + "".join(base)])
    grid.append([(c, AXIS) for c in " " * left + " " + "".join(marks)])
    return grid


def _score_axis(edges: Sequence[float], width: int) -> tuple[list[str], list[str]]:
    base, marks = ["─"] * width, [" "] * width
    if len(edges) < 2 or not width:
        return base, marks
    axis, free = axis_over([edges[0], edges[-1]], False, max(2, width // 8)), 0
    for value, text in axis.ticks:
        column = min(int((axis.place(value) or 0.0) * width), width - 1)
        start = max(0, min(column - len(text) // 2, width - len(text)))
        if start >= free and start + len(text) <= width:
            base[column] = "┬"
            marks[start : start + len(text)] = text
            free = start + len(text) + 1
    return base, marks


def as_text(drawing: Drawing) -> list[str]:
    """The drawing as lines."""
    return ["".join(cell for cell, _ in row).rstrip() for row in drawing.grid]
