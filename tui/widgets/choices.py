"""A list of choices with a cursor and, if wanted, check marks. Survives any size."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from ..render import fit, pad


@dataclass(frozen=True)
class Choice:
    """Something to choose: its key, its label, and what is said about it. All clean text."""

    key: str
    label: str
    note: str = ""

    @property
    def searched(self) -> str:
        """What typed words are looked for in."""
        return f"{self.label} {self.note}".lower()


class Choices(Widget):
    """Shows choices; the screen that holds it moves the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--cursor", "choices--note"}

    def __init__(self) -> None:
        super().__init__()
        self._choices: Sequence[Choice] = ()
        self._checked: Collection[str] | None = None
        self._at = 0
        self._from = 0

    def show(self, choices: Sequence[Choice], checked: Collection[str] | None = None) -> None:
        """Show these; with `checked`, a box before each."""
        self._choices, self._checked = choices, checked
        self.move(0)

    @property
    def current(self) -> str | None:
        """The key under the cursor."""
        return self._choices[self._at].key if self._choices else None

    def move(self, by: int) -> None:
        """Move the cursor by so many choices."""
        self._at = max(0, min(self._at + by, len(self._choices) - 1))
        height = max(1, self.size.height)
        self._from = max(min(self._from, self._at), self._at - height + 1)
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.move(0)

    def render_line(self, y: int) -> Strip:
        """A choice: box, label, note."""
        width, number = self.size.width, self._from + y
        if width < 1 or number >= len(self._choices):
            return Strip.blank(max(0, width), self.rich_style)
        choice = self._choices[number]
        here = number == self._at
        base = self.get_component_rich_style("choices--cursor") if here else self.rich_style
        note = base if here else self.get_component_rich_style("choices--note")
        box = ""
        if self._checked is not None:
            box = "[x] " if choice.key in self._checked else "[ ] "
        labels = max([len(c.label) for c in self._choices] or [0])
        label = pad(f"{box}{choice.label}", min(width, labels + len(box) + 2))
        segments = [Segment(label, base), Segment(fit(choice.note, width - cell_len(label)), note)]
        return Strip(segments).adjust_cell_length(width, base)
