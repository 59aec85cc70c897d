"""A line to type in."""

from typing import Any

from textual.widgets import Input


class TypingLine(Input):
    """What it is filled in with is selected: typing replaces it, an arrow or end keeps it.

    Selected at once: what Textual selects on focus comes late, and replaces what was typed fast.
    """

    def __init__(self, value: str = "", **more: Any) -> None:
        super().__init__(value, select_on_focus=False, **more)
        self.cursor_blink = False  # nothing repaints by itself

    def on_mount(self) -> None:
        """Select what is there."""
        self.select_all()

    def fill_in(self, text: str) -> None:
        """Fill in something else."""
        self.value = text
        self.select_all()
