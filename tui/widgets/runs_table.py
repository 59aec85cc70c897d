"""The list of runs: rows drawn when they show, from rows that the pane hands in.

Thousands of rows cost nothing: only the lines on screen are ever made. The cursor stays on its
run, at its height on the screen, while rows come, go and change their order.
"""

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message

from ..state import Row
from .drawn_runs import HEAD, DrawnRuns


class RunsTable(DrawnRuns, can_focus=True):
    """Rows of runs with a cursor cell; scrolls in both directions."""

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

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in sight."""
        if self._keys:
            self._lay_out()
            self.post_message(self.Moved())

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
