"""Lines of a log: cut and scrolled sideways or wrapped, with matches and a cursor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from sessions.log_pages import Line

from ..render import clean


class LogView(Widget, can_focus=True):
    """Draws the lines it is given; only what is on screen is made."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--match", "log--cursor"}

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[Line] = ()
        self._spans: Mapping[int, tuple[int, int]] = {}
        self._chosen: range = range(0)
        self._empty = ""
        self.left = 0
        self.wrap = False
        self._strips: list[Strip] = []

    def show(
        self, lines: Sequence[Line], spans: Mapping[int, tuple[int, int]], chosen: range, empty: str
    ) -> None:
        """Show lines, matches by line offset, the range of chosen lines; `empty` if none."""
        self._lines, self._spans, self._chosen, self._empty = lines, spans, chosen, empty
        self.renew()

    def renew(self) -> None:
        """Draw again what is shown, as it is to be cut now."""
        height = self.size.height
        at_end = self.wrap and bool(self._chosen) and self._chosen.stop >= len(self._lines)
        strips = self._last_rows(height) if at_end else self._first_rows(height)
        if strips[:height] != self._strips or not strips:
            self._strips = strips[:height]
            self.refresh()

    def on_resize(self) -> None:
        """Another part of the lines has room: a page may come before there is any."""
        self.renew()

    def _first_rows(self, height: int) -> list[Strip]:
        """Rows from the first line on; no line is wrapped that is not on screen."""
        rows: list[Strip] = []
        for number, line in enumerate(self._lines):
            if len(rows) >= height:
                break
            rows += self._rows(number, line, range(height))
        return rows

    def _last_rows(self, height: int) -> list[Strip]:
        """Rows that end with the last line."""
        rows: list[Strip] = []
        for number in range(len(self._lines) - 1, -1, -1):
            if len(rows) >= height:
                break
            rows[:0] = self._rows(number, self._lines[number], range(-height, 0))
        return rows[-height:]

    def _rows(self, number: int, line: Line, wanted: range) -> Iterator[Strip]:
        """The rows that a line takes; if it is wrapped, those that are wanted of them."""
        base = self._style("log--cursor") if number in self._chosen else self.rich_style
        strip, width = Strip(list(self._segments(line, base))), max(1, self.size.width)
        if not self.wrap:
            yield strip.crop(self.left, self.left + width).adjust_cell_length(width, base)
            return
        starts = range(0, max(1, strip.cell_length), width)
        for start in starts[wanted.start : wanted.stop or None]:
            yield strip.crop(start, start + width).adjust_cell_length(width, base)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(name)

    def _segments(self, line: Line, base: Style) -> Iterator[Segment]:
        first, last = self._spans.get(line.offset, (0, 0))
        yield Segment(clean(line.text[:first]), base)
        yield Segment(clean(line.text[first:last]), self._style("log--match"))
        yield Segment(clean(line.text[last:]), base)

    def render_line(self, y: int) -> Strip:
        """A row of the log, or blank."""
        if y < len(self._strips):
            return self._strips[y]
        text = self._empty if y == 0 and not self._lines else ""
        return Strip([Segment(clean(text), self.rich_style)]).adjust_cell_length(
            max(0, self.size.width), self.rich_style
        )
