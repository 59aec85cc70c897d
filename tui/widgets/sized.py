"""Widgets of whose size others say something: they tell when they were laid out."""

from textual.message import Message
from textual.widget import Widget


class Sized(Widget):
    """Tells that it has another size, which it has only some time after a change of layout."""

    class LaidOut(Message):
        """The widget has another size."""

    def on_resize(self) -> None:
        """Tell who holds it."""
        self.post_message(self.LaidOut())
