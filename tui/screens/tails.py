"""Pane 3: histograms of raw scores per family, the runs beside the reference, on one axis."""

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType

from ..histograms import EMPTY
from ..messages import RowsRead, ScoresMeasured, ScoresMeasuring, TailsFound
from ..state import State
from ..tails_choice import MOST, Choice, Room
from ..tails_desk import TailsDesk
from ..tails_text import legend, responses, slots
from ..tails_view import Tails
from ..widgets.histogram import Histogram
from ..widgets.lines import Lines
from .dialogs import Ask, Reader
from .pane import Shell
from .samples import SamplesScreen
from .tails_taking import TailsTaking


class TailsPane(TailsTaking):
    """Histograms with one cursor through the bins, and a table of quantiles."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "family(1)", "family", tooltip="Next family"),
        Binding("V", "family(-1)", "family back", tooltip="Previous family"),
        Binding("z", "zoom", "one/all", tooltip="One family large, or as many as have room"),
        Binding("L", "log", "log counts", tooltip="Count axis logarithmic or linear"),
        Binding("left,h", "cursor(-1)", "bin back", tooltip="Read the bin before"),
        Binding("right,l", "cursor(1)", "bin on", tooltip="Read the next bin"),
        Binding("shift+left,pageup", "cursor(-10)", "ten back", tooltip="Ten bins back"),
        Binding("shift+right,pagedown", "cursor(10)", "ten on", tooltip="Ten bins on"),
        Binding("home", "cursor(-100000)", "lowest", tooltip="Read the lowest bin"),
        Binding("end", "cursor(100000)", "highest", tooltip="Read the highest bin"),
        Binding("enter", "rows", "responses", tooltip="The responses behind the bin"),
        Binding("up,k", "other(-1)", "run above", tooltip="Open the run above in the list"),
        Binding("down,j", "other(1)", "run below", tooltip="Open the run below in the list"),
        Binding("e", "measure", "score", tooltip="Sample and score the runs that have no scores"),
        Binding("o", "open", "score file", tooltip="Look at a score file from elsewhere too"),
        Binding("x", "samples", "samples", tooltip="What the open run says: extremes, probe box"),
        Binding("b", "scorer", "scored by", tooltip="Scores by the run's own model or the task's"),
        Binding("F", "forget", "forget files", tooltip="Drop the score files from elsewhere"),
        Binding("escape", "leave", "back", tooltip="Cancel the scoring, or back to the list"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self.desk = TailsDesk(state, shell, self.post_message)
        self.choice = Choice(state)
        self._visible = False
        self._news = ""  # what is said once the next look-up has been shown
        self._turned = False  # and whose scores they are

    def plots(self) -> Iterator[Histogram]:
        """One a family."""
        for number in range(MOST):
            yield Histogram(id=f"histogram-{number}")

    def on_mount(self) -> None:
        """Look up the scores."""
        self.shown()

    def shown(self) -> None:
        """Look again: scores may have come meanwhile."""
        self._visible = True
        self.desk.look()

    def hidden(self) -> None:
        """What is looked up off screen is of no use."""
        self._visible = False

    def on_resize(self, event: events.Resize) -> None:
        """Another size may have room for more histograms."""
        self._draw()

    def on_sized_laid_out(self) -> None:
        """The columns may hold other bins than they did."""
        self._draw_readout(self.tails)

    # -- what is shown ---------------------------------------------------------------------

    @property
    def tails(self) -> Tails | None:
        """The tails on screen; None while there are none of what is chosen."""
        return self.desk.tails

    @property
    def _room(self) -> Room:
        # the terminal's size: a pane's own is nothing while it is being laid out
        return self.app.size.width, self.app.size.height

    def update(self) -> None:
        """Show the tails of the runs that are chosen now."""
        if self._visible and self.desk.stale:
            self.desk.look()
        self._draw()

    def _draw(self) -> None:
        tails, cells = self.tails, self.app.size.width - 2
        panels = self.choice.panels(tails, self._room)
        self.lay_out(len(panels))
        owners = slots(tails, self.state.slots) if tails else []
        pictures = self.choice.pictures(tails, panels, owners, self.look) if tails else []
        for number, plot in enumerate(self.query(Histogram)):
            plot.display = number < max(1, len(pictures))
            plot.show(pictures[number] if number < len(pictures) else EMPTY)
        lead = legend(tails, owners, self.look, cells) if tails else Text(self.desk.why_nothing())
        self.query_one("#facts", Lines).show([lead])
        self._draw_readout(tails)

    def _draw_readout(self, tails: Tails | None) -> None:
        lacking = self.desk.lacking
        lines = self.choice.readout(tails, self._bins(), lacking, self._room) if tails else []
        readout = self.query_one("#readout", Lines)
        readout.styles.height = len(lines)
        readout.show(lines)

    def _bins(self) -> range:
        """The bins of the column under the cursor; none before it is laid out."""
        tails = self.tails
        if tails is None or not tails.edges:
            return range(0)
        panels = self.choice.panels(tails, self._room)
        plot = self.query(Histogram)[panels.index(self.choice.family(tails))]
        if not plot.size.width:
            return range(0)
        return plot.columns.span(self.choice.cursor(tails), len(tails.edges) - 1)

    def status(self) -> str:
        """What the choice is; how far a measurement is."""
        if self.desk.progress:
            return f"{self.desk.progress}  esc cancels"
        if self.tails is None:
            return f"no tails{self.desk.lost}"
        return self.choice.status(self.tails, self._room)

    # -- what workers found ----------------------------------------------------------------

    def on_tails_found(self, message: TailsFound) -> None:
        """What was looked up, if it is still what is wanted."""
        if self.desk.take(message.found):
            self._draw()
            by = f"scores{self.desk.by}" if self._turned and self.desk.by else ""
            news = self._news or by
            self.shell.say(news) if news else self.shell.renew()
            self._news, self._turned = "", False

    def on_rows_read(self, message: RowsRead) -> None:
        """The responses behind the bin."""
        self.desk.reading = False
        if not self._visible:
            return
        self.shell.say("")
        rows = message.rows
        body = Text(rows.failure) if rows.failure else responses(rows)
        self.app.push_screen(Reader(rows.title, body))

    def on_scores_measuring(self, message: ScoresMeasuring) -> None:
        """How far it is."""
        self.desk.progress = message.text
        self._changed()

    def on_scores_measured(self, message: ScoresMeasured) -> None:
        """It is over, well or not."""
        self._news = f"not scored: {message.failure}" if message.failure else ""
        self.desk.measured()
        self._draw()

    # -- what keys do ----------------------------------------------------------------------

    def _changed(self) -> None:
        self.update()
        self.shell.say("")

    def action_family(self, by: int) -> None:
        self.state.turn_family(self.tails.families if self.tails else (), by)
        self._changed()

    def action_zoom(self) -> None:
        before = self.choice.panels(self.tails, self._room)
        self.choice.alone = not self.choice.alone
        self._changed()
        if self.choice.panels(self.tails, self._room) == before:
            several = self.tails and len(self.tails.families) > 1
            no_room = "no room for more plots at this size"
            self.shell.say(no_room if several else "there is no other family to show")

    def action_log(self) -> None:
        self.choice.log = not self.choice.log
        self._changed()

    def action_cursor(self, by: int) -> None:
        if self.tails and (bins := self._bins()):
            self.choice.move(self.tails, bins, by)
            self._changed()

    def action_rows(self) -> None:
        if self.tails and self.desk.read_rows(self.choice.family(self.tails), self._bins()):
            self.shell.say("reading the responses")

    def action_measure(self) -> None:
        self.shell.say(self.desk.measure())

    async def action_open(self) -> None:
        hint = "JSONL or CSV with a score; family, gold, id, prompt, response if it has them"
        await self.app.push_screen(Ask("score file from elsewhere", "", hint), self._open)

    def _open(self, name: str | None) -> None:
        if name is not None:
            self.desk.open(name)
            self.update()

    async def action_samples(self) -> None:
        key = self.state.open_run
        if key in self.state.folders and key in self.state.runs:
            name = self.state.runs[key]["name"]
            screen = SamplesScreen(self.shell, self.state, name, self.state.folders[key])
            await self.app.push_screen(screen, lambda _: self._changed())
        else:
            self.shell.say("no run is open: choose one in pane 1")

    def action_scorer(self) -> None:
        if self.desk.chosen().runs:
            self.state.by_run = self._turned = not self.state.by_run
            self._changed()
        else:
            self.shell.say("no run is open: choose one in pane 1")

    def action_forget(self) -> None:
        self.desk.files = ()
        self.update()
        self.shell.say("only runs now")

    async def action_leave(self) -> None:
        if self.desk.cancel():
            self.shell.say("cancelling")
        else:
            await self.app.run_action("pane('runs')")
