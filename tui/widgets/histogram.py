"""One family's histogram: title, what is wrong with the data, bars by tui.histograms."""

from rich.segment import Segment

from ..histograms import EMPTY, Drawing, Layout, Picture, arranged, draw, margin
from ..plotting import Grid, Options
from ..render import fit, width
from .drawn import Drawn
from .sized import Sized


class Histogram(Drawn, Sized):
    """Draws a picture; asks nothing and knows no run."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture = EMPTY
        self._drawn: tuple[object, Drawing] | None = None

    def show(self, picture: Picture) -> None:
        """Draw this from now on."""
        if picture != self._picture:
            self._picture, self._look, self._drawn = picture, picture.look, None
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

    def grid(self) -> Grid:
        """The bars, if there are bins."""
        return self.drawing.grid if self._picture.edges else []

    def title_segments(self) -> list[Segment]:
        """Title and note, each as far as there is room."""
        title, room = fit(self._picture.title, self.size.width), self.size.width
        segments = [Segment(title, self.get_component_rich_style("plot--title"))]
        note = fit(f"  {self._picture.note}", room - width(title))
        segments.append(Segment(note, self.get_component_rich_style("plot--note")))
        return segments
