"""What plots and histograms share: a title line over a grid of cells, each cell with an owner."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..histograms import GROUND
from ..looks import curve_colour
from ..plotting import AXIS, BLANK, CURSOR, Grid


class Drawn(Widget):
    """Shows a title and a grid. What is drawn is a subclass's."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "plot--title",
        "plot--axis",
        "plot--note",
        "plot--ground",
    }

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = "dark"

    def grid(self) -> Grid:
        """The cells at the widget's present size, below the title."""
        raise NotImplementedError

    def title_segments(self) -> list[Segment]:
        """The title line, no wider than the widget."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """The title, or a line of the grid."""
        room = self.size.width
        if room < 1:
            return Strip.blank(0)
        if y == 0:
            return Strip(self.title_segments()).adjust_cell_length(room, self.rich_style)
        grid = self.grid()
        if y > len(grid):
            return Strip.blank(room, self.rich_style)
        return Strip(self._runs(grid[y - 1])).adjust_cell_length(room, self.rich_style)

    def _runs(self, cells: Sequence[tuple[str, int]]) -> list[Segment]:
        """Neighbouring cells of one owner as one segment."""
        segments: list[Segment] = []
        text, owner = "", BLANK
        for character, whose in cells:
            if whose != owner and text:
                segments.append(Segment(text, self._style(owner)))
                text = ""
            text, owner = text + character, whose
        return [*segments, Segment(text, self._style(owner))]

    def _style(self, owner: int) -> Style:
        if owner == BLANK:
            return self.rich_style
        if owner in (AXIS, CURSOR):
            return self.get_component_rich_style("plot--axis")
        if owner == GROUND:
            return self.get_component_rich_style("plot--ground")
        return self.rich_style + Style(color=curve_colour(owner, self._look))
