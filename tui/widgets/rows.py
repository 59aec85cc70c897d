"""A short table of plain lines under a heading, with a cursor line."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
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
        self._lines: list[str] = []
        self._at = self._from = 0

    def show(self, head: str, rows: Sequence[tuple[str, str]], empty: str) -> None:
        """Show (key, line) rows; `empty` where there is none."""
        shown = (self._head, self._keys, self._lines, self._empty)
        here = self.current
        self._head, self._empty = head, empty
        self._keys, self._lines = [key for key, _ in rows], [clean(line) for _, line in rows]
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
            text, name = f" {self._head}", "head"
        elif number < len(self._lines):
            here = number == self._at
            text = f"{'>' if here else ' '}{self._lines[number]}"
            name = "cursor" if here else ""
        else:
            text, name = (f" {self._empty}", "empty") if y == 2 and not self._lines else ("", "")
        style = self.get_component_rich_style(f"rows--{name}") if name else self.rich_style
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)
