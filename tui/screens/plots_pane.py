"""What panes of plots share: a line of facts, a grid of plots, a read-out under them."""

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget

from ..widgets.lines import Lines
from .pane import Pane

GRIDS = {2: "two", 4: "four", 6: "six"}  # a grid for up to so many plots


class PlotsPane(Pane):
    """Lays out the plots that a subclass makes and fills."""

    def plots(self) -> Iterator[Widget]:
        """As many plots as can ever be on screen at once."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Facts, plots, read-out."""
        facts = Lines(id="facts")
        facts.can_focus = True  # a leaf: focusing a container restyles all that is in it
        yield facts
        with Container(id="plots"):
            yield from self.plots()
        yield Lines(id="readout")

    def focus_default(self) -> None:
        """Give the keys to this pane."""
        self.screen.set_focus(self.query_one("#facts"))

    def lay_out(self, count: int) -> None:
        """Lay the grid out for so many plots."""
        wanted = next((most for most in GRIDS if 1 < count <= most), 0)
        for most, name in GRIDS.items():
            self.query_one("#plots").set_class(most == wanted, name)

    async def action_other(self, by: int) -> None:
        keys = [run["id"] for row in self.state.rows() for run in row.runs]
        here = self.state.open_run
        place = keys.index(here) + by if here in keys else 0
        if 0 <= place < len(keys):
            await self.shell.open_run(keys[place], str(self.id).removeprefix("pane-"))
