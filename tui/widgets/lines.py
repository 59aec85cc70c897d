"""Lines of styled text that other parts compose: bars, legends, notes. Never wraps."""

from collections.abc import Sequence

from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget


class Lines(Widget):
    """Shows lines as they are, cut at its edge with an ellipsis; repaints only when they change."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Text] = []

    def show(self, lines: Sequence[Text]) -> None:
        """Show these lines; every text in them must have been cleaned."""
        if list(lines) != self._lines:
            self._lines = list(lines)
            self.refresh()

    @property
    def plain(self) -> list[str]:
        """The lines without their styles."""
        return [line.plain for line in self._lines]

    def render_line(self, y: int) -> Strip:
        """A line, or blank."""
        width = self.size.width
        if y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[y]
        if line.cell_len > width:
            line = line.copy()
            line.truncate(width, overflow="ellipsis")
        segments = line.render(self.app.console)
        strip = Strip(list(segments)).apply_style(self.rich_style)
        return strip.adjust_cell_length(width, self.rich_style)
