"""A short table of plain lines under a heading, with a cursor line."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ..render import clean


class Rows(Widget, can_focus=True):
    """Shows lines by key; the cursor stays on its key while lines come and go."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--head", "rows--cursor", "rows--empty"}

    class Moved(Message):
        """The cursor is on another line."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._head = self._empty = ""
        self._keys: list[str] = []
        self._lines: list[Text] = []
        self._at = self._from = 0

    def show(self, head: str, rows: Sequence[tuple[str, str | Text]], empty: str) -> None:
        """Show (key, line) rows, a Text being clean already; `empty` where there is none."""
        shown = (self._head, self._keys, self._lines, self._empty)
        here = self.current
        self._head, self._empty = head, empty
        self._keys = [key for key, _ in rows]
        self._lines = [one if isinstance(one, Text) else Text(clean(one)) for _, one in rows]
        if here in self._keys:
            self._at = self._keys.index(here)
        if shown != (self._head, self._keys, self._lines, self._empty):
            self.move(0)

    @property
    def current(self) -> str | None:
        """The key under the cursor."""
        return self._keys[self._at] if self._at < len(self._keys) else None

    @property
    def place(self) -> int:
        """The cursor's place, 0 is the first."""
        return self._at

    def move(self, by: int) -> None:
        """Move the cursor by so many lines."""
        self._at = max(0, min(self._at + by, len(self._keys) - 1))
        height = max(1, self.size.height - 1)
        highest = max(0, len(self._keys) - height)
        self._from = max(min(self._from, self._at, highest), self._at - height + 1)
        self.refresh()
        self.post_message(self.Moved())

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in sight."""
        self.move(0)

    def on_click(self, event: events.Click) -> None:
        """Go to the line."""
        self.move(self._from + event.y - 1 - self._at if event.y else 0)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three lines down."""
        self.move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three lines up."""
        self.move(-3)

    def render_line(self, y: int) -> Strip:
        """The heading, a line, or what is said where there is none."""
        width, number = self.size.width, self._from + y - 1
        if width < 1:
            return Strip.blank(0)
        if y == 0:
            return self._said(self._head, "head")
        if number >= len(self._lines):
            return self._said(self._empty if y == 2 and not self._lines else "", "empty")
        here = number == self._at
        base = self.get_component_rich_style("rows--cursor") if here else self.rich_style
        segments = self._lines[number].render(self.app.console)
        strip = Strip([Segment(">" if here else " "), *segments]).apply_style(base)
        return strip.adjust_cell_length(width, base)

    def _said(self, text: str, name: str) -> Strip:
        style = self.get_component_rich_style(f"rows--{name}")
        return Strip([Segment(f" {text}", style)]).adjust_cell_length(self.size.width, style)
