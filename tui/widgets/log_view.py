"""A page of a log: numbers, lines, the cursor, what matched. Cut at its edge, never wrapped."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ..log_reading import LogPage, LogRow
from ..render import clean


class LogView(Widget, can_focus=True):
    """Shows a LogPage; asks for nothing but the height that it has."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--number",
        "log--cursor",
        "log--match",
        "log--range",
    }

    class Resized(Message):
        """There is room for another number of lines."""

        def __init__(self, height: int) -> None:
            self.height = height
            super().__init__()

    class Scrolled(Message):
        """The wheel was turned."""

        def __init__(self, by: int) -> None:
            self.by = by
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="log-view")
        self._page: LogPage | None = None
        self._empty = ""
        self._from = 0  # the first character on screen

    def show(self, page: LogPage | None, empty: str, start: int) -> None:
        """Show a page from its character `start` on; `empty` where it has no line."""
        if (page, empty, start) != (self._page, self._empty, self._from):
            self._page, self._empty, self._from = page, empty, start
            self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Tell how many lines fit."""
        self.post_message(self.Resized(event.size.height))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three lines down."""
        self.post_message(self.Scrolled(3))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three lines up."""
        self.post_message(self.Scrolled(-3))

    def render_line(self, y: int) -> Strip:
        """A line of the log, or what is said where there is none."""
        room = self.size.width
        rows = self._page.rows if self._page else ()
        if room < 1 or y >= len(rows):
            said = f" {clean(self._empty)}" if y == 1 and not rows else ""
            return Strip([Segment(said)]).adjust_cell_length(max(0, room), self.rich_style)
        assert self._page is not None
        return self._line(rows[y], y == self._page.cursor).adjust_cell_length(room, self.rich_style)

    def _line(self, row: LogRow, here: bool) -> Strip:
        assert self._page is not None
        digits = len(str(max(1, self._page.total or 1))) if row.number is not None else 0
        number = f"{row.number + 1:>{digits}} " if row.number is not None else ""
        chosen = self._page.selected
        place = (self._page.first or 0) + self._page.rows.index(row) if chosen else 0
        marked = chosen is not None and chosen[0] <= place <= chosen[1]
        name = "log--cursor" if here else "log--range" if marked else None
        base = self.get_component_rich_style(name) if name else self.rich_style
        mark = ">" if here else "|" if marked else " "
        segments = [Segment(mark, base), Segment(number, self._style("number"))]
        return Strip([*segments, *self._text(row, base)])

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"log--{name}")

    def _text(self, row: LogRow, base: Style) -> list[Segment]:
        text = clean(row.text)
        if row.span is None or row.span[0] == row.span[1] or text != row.text:
            return [Segment(text[self._from :], base)]
        first, last = (max(0, at - self._from) for at in row.span)
        rest = text[self._from :]
        pieces = (
            (rest[:first], base),
            (rest[first:last], self._style("match")),
            (rest[last:], base),
        )
        return [Segment(piece, style) for piece, style in pieces if piece]
