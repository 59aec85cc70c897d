"""One plot: curves over completed updates, drawn by tui.plotting, with title and unit."""

from collections.abc import Iterator, Sequence

from rich.segment import Segment

from ..plotting import Drawing, Grid, Options, Series, draw
from ..render import fit, width
from .drawn import Drawn


class Plot(Drawn):
    """Draws series; asks nothing and knows no run."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._series: Sequence[Series] = ()
        self._shown: tuple[object, ...] = ()
        self._title = self._unit = ""
        self._log = False
        self._cursor: float | None = None
        self._drawn: tuple[object, Drawing] | None = None

    def show(
        self,
        title: str,
        unit: str,
        series: Sequence[Series],
        log: bool,
        cursor: float | None,
        look: str,
    ) -> None:
        """Draw these series; `cursor` is the step that is read out."""
        wanted = (title, unit, series, log, cursor, look)
        if wanted == self._shown:
            return
        self._shown = wanted
        self._title, self._unit, self._series, self._log, self._cursor, self._look = wanted
        self._drawn = None
        self.refresh()

    @property
    def drawing(self) -> Drawing:
        """The plot at the widget's present size."""
        key = (self.size.width, self.size.height)
        if self._drawn is None or self._drawn[0] != key:
            ascii = self._look == "ascii"
            size = (self.size.width, max(1, self.size.height - 1))
            options = Options(*size, log=self._log, ascii=ascii, cursor=self._cursor)
            self._drawn = (key, draw(self._series, options))
        return self._drawn[1]

    def grid(self) -> Grid:
        """The curves over their axes."""
        return self.drawing.grid

    def title_segments(self) -> list[Segment]:
        """Title, what is wrong with the data, unit: what fits, whole."""
        parts = [(self._title, "title"), *((f"  {n}", "note") for n in self._notes())]
        room = self.size.width
        segments: list[Segment] = []
        for text, style in [*parts, (self._unit, "axis")]:
            if width(text) <= room or not segments:
                text = fit(text, room)
                segments.append(Segment(text, self.get_component_rich_style(f"plot--{style}")))
                room -= width(text)
        return segments

    def _notes(self) -> Iterator[str]:
        if not any(y is not None for one in self._series for y in one.ys):
            yield "no values yet"
            return
        if self._log:
            yield "log"
        if self.size.height > 1 and self.drawing.nonfinite:
            yield f"✗ {self.drawing.nonfinite} not finite"
        if self.size.height > 1 and self.drawing.not_positive:
            yield f"{self.drawing.not_positive} not above 0"
