"""The list of the Grade pane: any number of items, of which only those on screen are drawn."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ..grading import HEAD, Item, line, titles


class GradeList(Widget, can_focus=True):
    """Items under headings, with a cursor that headings do not take."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--head", "table--cursor", "table--mark"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("home", "move(-1000000)", "First row", show=False),
        Binding("end", "move(1000000)", "Last row", show=False),
    ]

    class Moved(Message):
        """The cursor is on another item, or other items are on screen."""

    def __init__(self) -> None:
        super().__init__(id="grade-list")
        self._items: Sequence[Item] = ()
        self._documents: Mapping[str, Any] = {}
        self._marks: Collection[str] = ()
        self._at = 0
        self._top = 0

    def show(
        self, items: Sequence[Item], documents: Mapping[str, Any], marks: Collection[str]
    ) -> None:
        """Show these items; the cursor stays on the one it is on."""
        if list(items) != list(self._items):
            here = self.current
            keys = {(item.kind, item.key): place for place, item in enumerate(items)}
            self._at = keys.get((here.kind, here.key), self._at) if here else 0
        self._items, self._documents, self._marks = items, documents, marks
        self._settle(1)
        self.refresh()

    @property
    def current(self) -> Item | None:
        """The item under the cursor."""
        item = self._items[self._at] if self._at < len(self._items) else None
        return item if item is not None and item.kind != HEAD else None

    @property
    def on_screen(self) -> Sequence[Item]:
        """The items that are drawn."""
        return self._items[self._top : self._top + max(1, self.size.height)]

    def holds(self, kind: str, key: str) -> bool:
        """Whether an item is in the list."""
        return any((item.kind, item.key) == (kind, key) for item in self._items)

    def go_to(self, kind: str, key: str) -> None:
        """Put the cursor on an item, if it is there."""
        for place, item in enumerate(self._items):
            if (item.kind, item.key) == (kind, key):
                self.action_move(place - self._at)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._at += by
        self._settle(-1 if by < 0 else 1)
        self.refresh()
        self.post_message(self.Moved())

    def _settle(self, direction: int) -> None:
        """The cursor on an item, not on a heading, and in sight."""
        last = len(self._items) - 1
        self._at = max(0, min(self._at, last))
        for step in (direction, -direction):
            place = self._at
            while 0 <= place <= last and self._items[place].kind == HEAD:
                place += step
            if 0 <= place <= last:
                self._at = place
                break
        height = max(1, self.size.height)
        highest = max(0, len(self._items) - height)
        above = 1 if self._at and self._items[self._at - 1].kind == HEAD else 0
        self._top = max(min(self._top, highest, self._at - above), self._at - height + 1, 0)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._settle(1)
        self.post_message(self.Moved())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        self.action_move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        self.action_move(-3)

    def on_click(self, event: events.Click) -> None:
        """Go to the item."""
        self.action_move(self._top + event.y - self._at)

    def render_line(self, y: int) -> Strip:
        """A heading or an item."""
        width, number = self.size.width, self._top + y
        if width < 1 or number >= len(self._items):
            return Strip.blank(max(0, width), self.rich_style)
        item = self._items[number]
        if item.kind == HEAD:
            titled = item.label.startswith("grades")
            text = f" {item.label}" + (titles(width)[len(item.label) + 1 :] if titled else "")
            style = self.get_component_rich_style("table--head")
        else:
            text = line(item, self._documents.get(item.key), width)
            text = ("◆" if item.key in self._marks else " ") + text[1:]
            here = number == self._at
            style = self.get_component_rich_style("table--cursor") if here else self.rich_style
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)
