"""How rows of runs look: a heading of two lines, and the rows that have room under it."""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..columns import Column, cell, laid_out
from ..render import clean, pad
from ..state import Row
from ..viewport import Viewport

HEAD = 2  # lines of the heading


class DrawnRuns(Widget):
    """Draws the rows that its view shows, with marks and the cursor's cell."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--head",
        "table--sorted",
        "table--row",
        "table--cursor",
        "table--cell",
        "table--mark",
        "table--good",
        "table--live",
        "table--bad",
        "table--empty",
    }

    def __init__(self) -> None:
        super().__init__(id="runs-table")
        self._rows: Sequence[Row] = []
        self._keys: list[str] = []
        self._columns: list[Column] = []
        self._marks: Collection[str] = ()
        self._sort: tuple[str | None, bool] = (None, False)
        self._grouped = False
        self._empty = ""
        self._longest = 0
        self.view = Viewport()
        self._cells: dict[str, tuple[Row, list[str]]] = {}

    def _lay_out(self) -> None:
        extra = 6 if self._grouped else 0
        room = max(1, self.size.width - 1)
        self._columns = laid_out(self._keys, room, self._longest + extra, self._grouped)
        self.view.fit(len(self._rows), self._columns, self.size.width, self.size.height - HEAD)

    def render_line(self, y: int) -> Strip:
        """A heading line, a row, or what is said where there is none."""
        if self.size.width < 1:
            return Strip.blank(0)
        if self._keys and not self.view.is_fit(self.size.width, self.size.height - HEAD):
            self._lay_out()  # rows came before the first layout, or in the middle of one
        if y < HEAD:
            strip = self._head(y)
        elif self.view.top + y - HEAD < len(self._rows):
            strip = self._line(self.view.top + y - HEAD)
        elif not self._rows and y == HEAD + 1:
            strip = Strip([Segment(" " + clean(self._empty), self._style("empty"))])
        else:
            strip = Strip([])
        return strip.adjust_cell_length(self.size.width, self.rich_style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"table--{name}")

    def _head(self, y: int) -> Strip:
        return self._groups() if y == 0 else self._titles()

    def _groups(self) -> Strip:
        """What neighbouring columns have in common, written once over all of them."""
        head = self._style("head")
        segments = [Segment(" ", head)]
        for group, columns in groupby(self.view.shown(), key=lambda shown: shown[1].field.group):
            cells = sum(column.width + 1 for _, column in columns)
            segments.append(Segment(pad(group.center(cells - 1), cells), head))
        return Strip(segments)

    def _titles(self) -> Strip:
        head = self._style("head")
        pieces = [(" ", head)]
        for _, column in self.view.shown():
            style = self._style("sorted") if column.key == self._sort[0] else head
            if style is not head:  # the arrow stands in the gap: the title may need its whole width
                pieces[-1] = ("▼" if self._sort[1] else "▲", style)
            text = pad(column.field.title, column.width, right=not column.is_left)
            pieces += [(text, style), (" ", head)]
        return Strip(_joined(pieces))

    def _line(self, number: int) -> Strip:
        row = self._rows[number]
        here = number == self.view.row
        base = self._style("cursor") if here else self._style("row")
        marked = all(run["id"] in self._marks for run in row.runs)
        pieces = [("◆", base if here else self._style("mark")) if marked else (" ", base)]
        texts = self._texts(row)
        for index, column in self.view.shown():
            style = base
            if here and index == self.view.column and self.has_focus:
                style = self._style("cell")
            elif column.key == "state" and not here:
                style = self._state_style(row.runs[0]["state"])
            pieces.append((pad(texts[index], column.width, right=not column.is_left), style))
            pieces.append((" ", base))
        return Strip(_joined(pieces))

    def _texts(self, row: Row) -> list[str]:
        known = self._cells.get(row.key)
        ages = "age" in self._keys and row.runs[0]["created"]
        if known and known[0] == row and len(known[1]) == len(self._columns) and not ages:
            return known[1]
        texts = [cell(row, column.field) for column in self._columns]
        if len(self._cells) > 20_000:
            self._cells.clear()
        self._cells[row.key] = (row, texts)
        return texts

    def renew_ages(self) -> None:
        """Draw again if an age on screen reads differently by now."""
        shown = self._rows[self.view.top : self.view.bottom]
        before = [self._cells[row.key][1] for row in shown if row.key in self._cells]
        if before != [self._texts(row) for row in shown if row.key in self._cells]:
            self.refresh()

    def _state_style(self, state: str) -> Style:
        if state in ("queued", "starting", "running"):
            return self._style("live")
        return self._style("good" if state == "finished" else "bad")


def _joined(pieces: Sequence[tuple[str, Style]]) -> list[Segment]:
    """Neighbours of one style as one segment: a line is painted in a few pieces, not in forty."""
    return [
        Segment("".join(text for text, _ in group), style)
        for style, group in groupby(pieces, key=itemgetter(1))
    ]
