"""Lines of text that scroll, whatever their number: only those on screen are drawn."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from .lines import Lines
from .sized import Sized


class ScrollLines(Lines, Sized, can_focus=True):
    """Shows lines from a first one on; keys and the wheel move it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "roll(-1)", "Up", show=False),
        Binding("down,j", "roll(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "roll(-1000000)", "First row", show=False),
        Binding("end", "roll(1000000)", "Last row", show=False),
    ]

    class Rolled(Message):
        """Other lines are on screen."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._top = 0

    def show(self, lines: Sequence[Text], anew: bool = False) -> None:
        """Show these lines; `anew` from the first on, else from where one was."""
        self._top = 0 if anew else min(self._top, max(0, len(lines) - 1))
        super().show(lines)

    def action_roll(self, by: int) -> None:
        """Scroll by lines."""
        highest = max(0, len(self._lines) - self.size.height)
        self._top = max(0, min(self._top + by, highest))
        self.refresh()
        self.post_message(self.Rolled())

    def action_page(self, by: int) -> None:
        """Scroll by screens."""
        self.action_roll(by * max(1, self.size.height - 1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three lines down."""
        self.action_roll(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three lines up."""
        self.action_roll(-3)

    @property
    def more(self) -> int:
        """Lines below the last one on screen."""
        return max(0, len(self._lines) - self._top - self.size.height)

    def render_line(self, y: int) -> Strip:
        """A line, or blank."""
        return super().render_line(y + self._top)
