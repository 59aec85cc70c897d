"""The list of runs: rows drawn when they show, from rows that the pane hands in.

Thousands of rows cost nothing: only the lines on screen are ever made. The cursor stays on its
run, at its height on the screen, while rows come, go and change their order.
"""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ..columns import Column, cell, laid_out
from ..render import clean, pad
from ..state import Row
from ..viewport import Viewport

HEAD = 2  # lines of the heading


class RunsTable(Widget, can_focus=True):
    """Rows of runs under a heading, with a cursor cell; scrolls in both directions."""

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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(-1)", "First row", show=False),
        Binding("end,G", "edge(1)", "Last row", show=False),
        Binding("left,h", "across(-1)", "Column to the left", show=False),
        Binding("right,l", "across(1)", "Column to the right", show=False),
        Binding("shift+left,[", "across(-99)", "First column", show=False),
        Binding("shift+right,]", "across(99)", "Last column", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row or column."""

    class HeadClicked(Message):
        """A column's heading was clicked."""

        def __init__(self, key: str) -> None:
            self.key = key
            super().__init__()

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

    # -- data in ---------------------------------------------------------------------------

    def show(
        self,
        rows: Sequence[Row],
        keys: Sequence[str],
        marks: Collection[str],
        sort: tuple[str | None, bool],
        grouped: bool,
        empty: str,
        longest: int,
    ) -> None:
        """Show these rows and columns; `empty` is said where there is no row.

        `longest` is the width in cells of the longest name, shown at present or not.
        """
        if grouped != self._grouped or list(keys) != self._keys:
            self._cells.clear()
        self.view.carry(self._place_of_cursor(rows))
        self._rows, self._keys, self._marks = rows, list(keys), marks
        self._sort, self._grouped, self._empty = sort, grouped, empty
        self._longest = longest
        self._lay_out()
        self.refresh()

    def _place_of_cursor(self, rows: Sequence[Row]) -> int:
        """Where the cursor's row is among `rows`; its place as it is if that row is gone."""
        here = self.cursor_row
        if here is not None:
            for place, row in enumerate(rows):
                if row.key == here.key:
                    return place
        return max(0, min(self.view.row, len(rows) - 1))

    def go_to(self, key: str) -> None:
        """Put the cursor on the row `key`, if it is shown."""
        place = next((n for n, row in enumerate(self._rows) if row.key == key), None)
        if place is not None:
            self._go(place)

    @property
    def cursor_row(self) -> Row | None:
        """The row under the cursor; None if there is no row."""
        return self._rows[self.view.row] if self.view.row < len(self._rows) else None

    @property
    def cursor_key(self) -> str | None:
        """The key of the column under the cursor."""
        return self._keys[self.view.column] if self._keys else None

    @property
    def position(self) -> tuple[int, int, int]:
        """The first and last row on screen and the row under the cursor, counted from 1."""
        last = self.view.bottom
        return (min(self.view.top + 1, last), last, min(self.view.row + 1, len(self._rows)))

    def _lay_out(self) -> None:
        extra = 6 if self._grouped else 0
        room = max(1, self.size.width - 1)
        self._columns = laid_out(self._keys, room, self._longest + extra, self._grouped)
        self.view.fit(len(self._rows), self._columns, self.size.width, self.size.height - HEAD)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in sight."""
        if self._keys:
            self._lay_out()
            self.post_message(self.Moved())

    # -- drawing ---------------------------------------------------------------------------

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

    # -- intent out ------------------------------------------------------------------------

    def _go(self, row: int, column: int | None = None) -> None:
        before = self.view.row
        moved = self.view.move(row, self.view.column if column is None else column)
        if moved:
            self.refresh()
        else:
            for line in {before, self.view.row}:
                self.refresh(Region(0, HEAD + line - self.view.top, self.size.width, 1))
        self.post_message(self.Moved())

    def action_move(self, by: int) -> None:
        self._go(self.view.row + by)

    def action_page(self, by: int) -> None:
        self.view.page(by)
        self.refresh()
        self.post_message(self.Moved())

    def action_edge(self, direction: int) -> None:
        self._go(0 if direction < 0 else len(self._rows) - 1)

    def action_across(self, by: int) -> None:
        self._go(self.view.row, self.view.column + by)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        self._go(self.view.row + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        self._go(self.view.row - 3)

    def on_click(self, event: events.Click) -> None:
        """Go to the cell; a heading asks to sort by its column."""
        edge = 1
        for index, column in self.view.shown():
            edge += column.width + 1
            if event.x < edge:
                if event.y < HEAD:
                    self.post_message(self.HeadClicked(column.key))
                elif self.view.top + event.y - HEAD < len(self._rows):
                    self._go(self.view.top + event.y - HEAD, index)
                return

    def on_focus(self) -> None:
        """The cursor's cell shows only with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor's cell shows only with the focus."""
        self.refresh()


def _joined(pieces: Sequence[tuple[str, Style]]) -> list[Segment]:
    """Neighbours of one style as one segment: a line is painted in a few pieces, not in forty."""
    return [
        Segment("".join(text for text, _ in group), style)
        for style, group in groupby(pieces, key=itemgetter(1))
    ]
