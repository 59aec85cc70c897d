"""One family's histogram: title, what is wrong with the data, bars by tui.histograms."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..histograms import EMPTY, GROUND, Drawing, Layout, Options, Picture, arranged, draw, margin
from ..looks import curve_colour
from ..plotting import AXIS, BLANK, CURSOR
from ..render import fit, width


class Histogram(Widget):
    """Draws a picture; asks nothing and knows no run."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "plot--title",
        "plot--axis",
        "plot--note",
        "plot--ground",
    }

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture = EMPTY
        self._drawn: tuple[object, Drawing] | None = None

    def show(self, picture: Picture) -> None:
        """Draw this from now on."""
        if picture != self._picture:
            self._picture, self._drawn = picture, None
            self.refresh()

    @property
    def columns(self) -> Layout:
        """How bins share the columns at the widget's present size."""
        picture = self._picture
        left = margin(picture.bars, picture.log, self.size.width)
        return arranged(max(1, len(picture.edges) - 1), self.size.width - left - 1)

    @property
    def drawing(self) -> Drawing:
        """The bars at the widget's present size."""
        size = (self.size.width, max(1, self.size.height - 1))
        if self._drawn is None or self._drawn[0] != size:
            picture = self._picture
            options = Options(*size, picture.log, picture.look == "ascii", picture.cursor)
            self._drawn = (size, draw(picture.bars, picture.edges, options))
        return self._drawn[1]

    def render_line(self, y: int) -> Strip:
        """The title, or a line of the drawing."""
        room = self.size.width
        if room < 1:
            return Strip.blank(0)
        if y == 0:
            return self._title_line()
        grid = self.drawing.grid if self._picture.edges else []
        if y > len(grid):
            return Strip.blank(room, self.rich_style)
        return Strip(self._runs(grid[y - 1])).adjust_cell_length(room, self.rich_style)

    def _title_line(self) -> Strip:
        title, room = fit(self._picture.title, self.size.width), self.size.width
        segments = [Segment(title, self.get_component_rich_style("plot--title"))]
        note = fit(f"  {self._picture.note}", room - width(title))
        segments.append(Segment(note, self.get_component_rich_style("plot--note")))
        return Strip(segments).adjust_cell_length(room, self.rich_style)

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
        return self.rich_style + Style(color=curve_colour(owner, self._picture.look))
