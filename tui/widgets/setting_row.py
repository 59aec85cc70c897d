"""A setting to type: its name, the line, and what it means or what is wrong with it."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from ..launch_form import MEANINGS
from ..render import clean
from .typing_line import TypingLine


class CleanInput(TypingLine):
    """An input into which nothing can be pasted that steers a terminal."""

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert what can be shown."""
        super().insert_text_at_cursor(clean(text))


class SettingRow(Horizontal):
    """A field: its name, the line to type in, and what it means or what is wrong with it."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(classes="launch-row")
        self.option = option
        self.line = CleanInput(text, id=f"launch-{option}")
        self._note = Static(MEANINGS[option], classes="launch-note", markup=False)
        self._wrong = ""

    def compose(self) -> ComposeResult:
        """Name, line, note."""
        yield Static(self.option.replace("_", "-"), classes="launch-name", markup=False)
        yield self.line
        yield self._note

    def mark(self, wrong: str) -> None:
        """Say what is wrong, or what the field means."""
        if wrong != self._wrong:
            self._wrong = wrong
            self._note.update(f"! {wrong}" if wrong else MEANINGS[self.option])
            self.set_class(bool(wrong), "wrong")
