"""Pane 3: histograms of raw scores per family, the runs beside the reference, on one axis."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from ..messages import RowsRead, ScoresMeasured, ScoresMeasuring, TailsFound
from ..render import clean
from ..state import State
from ..tails_text import (
    NO_RUN,
    bars,
    bin_range,
    bin_words,
    csv_text,
    json_text,
    legend,
    note,
    read_out,
    responses,
    slots,
)
from ..tails_view import EXPLANATIONS, Tails, remarks, table_lines
from ..tails_work import Cancel, Chosen, Found, look, measure, read_rows
from ..widgets.histogram import EMPTY, Histogram, Picture
from ..widgets.lines import Lines
from .dialogs import Ask, Reader, labelled
from .pane import Pane, Shell

MOST = 6  # histograms that can be on screen at once
MOST_RUNS = 8
ROOM_FOR_SIX = (100, 34)  # cells of the terminal from which on six are shown


class TailsPane(Pane):
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
        Binding("x", "forget", "forget files", tooltip="Drop the score files from elsewhere"),
        Binding("i", "explain", "explain", tooltip="What each number is, and what is amiss"),
        Binding("y", "copy", "copy", tooltip="Copy the table"),
        Binding("w", "write", "write", tooltip="Write the figures to a CSV or JSON file"),
        Binding("escape", "leave", "back", tooltip="Cancel the scoring, or back to the list"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._found: Found | None = None
        self._files: tuple[Path, ...] = ()
        self._asked: Chosen | None = None  # what is looked up, or was last
        self._measuring: Cancel | None = None
        self._progress = ""
        self._family = 0
        self._cursor: int | None = None
        self._alone = self._log = self._visible = False

    def compose(self) -> ComposeResult:
        """Legend, histograms, read-out with the table."""
        facts = Lines(id="facts")
        facts.can_focus = True  # a leaf: focusing a container restyles all that is in it
        yield facts
        with Container(id="plots"):
            for number in range(MOST):
                yield Histogram(id=f"histogram-{number}")
        yield Lines(id="readout")

    def on_mount(self) -> None:
        """Look up the scores."""
        self.shown()

    def shown(self) -> None:
        """Look again: scores may have come meanwhile."""
        self._visible = True
        self._look()

    def hidden(self) -> None:
        """What is looked up off screen is of no use."""
        self._visible = False

    def focus_default(self) -> None:
        """Give the keys to this pane."""
        self.screen.set_focus(self.query_one("#facts"))

    def on_resize(self, event: events.Resize) -> None:
        """Another size may have room for more histograms."""
        self._draw()

    # -- looking up ------------------------------------------------------------------------

    def chosen(self) -> Chosen:
        """The open and marked runs, and the files from elsewhere."""
        keys = [key for key in self.state.overlaid() if key in self.state.folders]
        runs = tuple((key, self.state.folders[key].absolute()) for key in keys[:MOST_RUNS])
        return Chosen(runs, self._files[: MOST_RUNS - len(runs)])

    def _look(self) -> None:
        chosen = self._asked = self.chosen()
        if chosen.runs or chosen.files:
            cancel = Cancel(self.shell.background.stopping)
            place = self.shell.place
            self.shell.work(
                "tails", lambda: self.post_message(TailsFound(look(place, chosen, cancel)))
            )

    def on_tails_found(self, message: TailsFound) -> None:
        """What was looked up, if it is still what is wanted."""
        if message.found.chosen == self._asked:
            self._found = message.found
            self._family = min(self._family, max(0, len(self._families()) - 1))
            self.update()
            self.shell.say("")

    def update(self) -> None:
        """Show the tails of the runs that are chosen now."""
        if self._visible and self.chosen() != self._asked:
            self._look()
        self._draw()

    # -- what is shown ---------------------------------------------------------------------

    @property
    def tails(self) -> Tails | None:
        """The tails on screen; None while there are none of what is chosen."""
        found = self._found
        return found.tails if found and found.chosen == self._asked else None

    def _families(self) -> list[str]:
        return self.tails.families if self.tails else []

    @property
    def family(self) -> str:
        """The family that is read out."""
        return (self._families() or [""])[self._family]

    def _panels(self) -> list[str]:
        families, room = self._families(), self.app.size
        small = room.width < ROOM_FOR_SIX[0] or room.height < ROOM_FOR_SIX[1]
        if self._alone or small or len(families) == 1:
            return families[self._family : self._family + 1]
        first = self._family // MOST * MOST
        return families[first : first + MOST]

    def _draw(self) -> None:
        tails, panels = self.tails, self._panels()
        owners = slots(tails, self.state.slots) if tails else []
        self._arrange(len(panels))
        for number, plot in enumerate(self.query(Histogram)):
            plot.display = number < max(1, len(panels))
            plot.show(EMPTY)
            if tails and number < len(panels):
                plot.show(self._picture(tails, panels[number], owners, len(panels) > 1))
        lead = [legend(tails, owners, self.look)] if tails else [Text(self._why_nothing())]
        self.query_one("#facts", Lines).show(lead)
        self._draw_readout(tails)

    def _arrange(self, count: int) -> None:
        plots = self.query_one("#plots")
        for number, name in ((2, "two"), (4, "four"), (6, "six")):
            plots.set_class(number - 2 < count <= number and count > 1, name)

    def _picture(self, tails: Tails, family: str, owners: Sequence[int], several: bool) -> Picture:
        here = family == self.family
        title = ("▸ " if here and several else "") + clean(family)
        finite = any(one["n_finite"] for one in tails.of(family))
        return Picture(
            title,
            note(tails, family),
            bars(tails, family, owners),
            tails.edges if finite else (),
            self._log,
            self.cursor if here else None,
            self.look,
        )

    @property
    def cursor(self) -> int:
        """The bin that is read out: at first the highest that the open run fills."""
        tails = self.tails
        if tails is None or not tails.edges:
            return 0
        if self._cursor is not None:
            return self._cursor
        filled = [i for one in tails.of(self.family) for i, n in enumerate(one["counts"]) if n]
        return max(filled, default=0)

    def _bins(self) -> range:
        """The bins of the column under the cursor."""
        tails = self.tails
        count = len(tails.edges) - 1 if tails else 0
        plot = self.query(Histogram)[max(0, self._place())]
        return plot.columns.span(self.cursor, count)

    def _place(self) -> int:
        panels = self._panels()
        return panels.index(self.family) if self.family in panels else 0

    def _draw_readout(self, tails: Tails | None) -> None:
        lines = self._readout(tails) if tails else []
        readout = self.query_one("#readout", Lines)
        readout.styles.height = len(lines)
        readout.show(lines)

    def _readout(self, tails: Tails) -> list[Text]:
        at = read_out(tails, self.family, self._bins()) if tails.edges else "no finite score"
        room = self.app.size.width - 2
        most = max(3, self.app.size.height // 3)
        table = table_lines(tails, self._panels(), room)
        if len(table) > most:
            table = table_lines(tails, [self.family], room)
        said = [Text(line, "dim") for line in self._said(tails)]
        return [Text(at, "bold"), Text(table[0], "dim"), *map(Text, table[1:most]), *said[:2]]

    def _said(self, tails: Tails) -> list[str]:
        found = self._found
        lacking = ", ".join(map(clean, found.lacking)) if found else ""
        told = [f"no scores yet: {lacking}. e samples and scores"] if lacking else []
        return told + list(remarks(tails, [self.family]))

    def _why_nothing(self) -> str:
        chosen, found = self.chosen(), self._found
        if not chosen.runs and not chosen.files:
            return NO_RUN
        if self._progress:
            return self._progress
        if found is None or found.chosen != self._asked:
            return "Looking for scores."
        if found.failure:
            return f"✗ {found.failure}"
        names = ", ".join(map(clean, found.lacking))
        if self.shell.place.read_only:
            return f"No scores yet: {names}. --read-only measures nothing."
        return f"No scores yet: {names}. Press e to sample and score, some seconds each."

    def status(self) -> str:
        """Which family on which count axis; how far a measurement is."""
        if self._progress:
            return f"{self._progress}  esc cancels"
        tails = self.tails
        if tails is None:
            return "no tails"
        families = self._families()
        parts = [f"{clean(self.family)} {self._family + 1}/{len(families)}"]
        parts.append(f"counts {'log' if self._log else 'linear'}")
        bad = sum(source["bad_lines"] for source in tails.document["sources"])
        if bad:
            parts.append(f"{bad} bad lines (i)")
        return "  ".join(parts)

    # -- what keys do ----------------------------------------------------------------------

    def _changed(self) -> None:
        self._draw()
        self.shell.say("")

    def action_family(self, by: int) -> None:
        self._family = (self._family + by) % max(1, len(self._families()))
        self._changed()

    def action_zoom(self) -> None:
        self._alone = not self._alone
        self._changed()

    def action_log(self) -> None:
        self._log = not self._log
        self._changed()

    def action_cursor(self, by: int) -> None:
        tails = self.tails
        if tails and tails.edges:
            bins = self._bins()
            target = bins.start + by * len(range(bins.start, bins.stop))
            self._cursor = max(0, min(target, len(tails.edges) - 2))
            self._changed()

    async def action_other(self, by: int) -> None:
        keys = [run["id"] for row in self.state.rows() for run in row.runs]
        here = self.state.open_run
        place = keys.index(here) + by if here in keys else 0
        if 0 <= place < len(keys):
            await self.shell.open_run(keys[place], "tails")

    def action_rows(self) -> None:
        from sessions.tails import Bin

        tails, found = self.tails, self._found
        if not tails or not tails.edges or found is None:
            return
        bins = self._bins()
        closed = bins.stop == len(tails.edges) - 1
        part = Bin(self.family, *bin_range(tails, bins), closed)
        title = f"{clean(self.family)} {bin_words(tails, bins)}"
        ground = 1 if tails.has_reference else 0
        sources = [*found.sources[ground:], *found.sources[:ground]]
        cancel = Cancel(self.shell.background.stopping)
        self.shell.work(
            "rows", lambda: self.post_message(RowsRead(read_rows(sources, title, part, cancel)))
        )

    def on_rows_read(self, message: RowsRead) -> None:
        """The responses behind the bin."""
        rows = message.rows
        body = Text(rows.failure) if rows.failure else responses(rows)
        self.app.push_screen(Reader(rows.title, body))

    def action_measure(self) -> None:
        if self.shell.place.read_only:
            self.shell.say("--read-only: nothing is measured")
        elif self._measuring:
            self.shell.say("already scoring: esc cancels it")
        elif not self._found or not self._found.lacking:
            self.shell.say("nothing to score: all that is chosen has its scores")
        else:
            self._measuring = Cancel(self.shell.background.stopping)
            self.shell.work("scores", partial(self._measure, self.chosen(), self._measuring))

    def _measure(self, chosen: Chosen, cancel: Cancel) -> None:
        def say(text: str) -> None:
            self.post_message(ScoresMeasuring(text))

        with self.shell.background.held():
            failure = measure(self.shell.place, chosen, say, cancel)
        self.post_message(ScoresMeasured(failure))

    def on_scores_measuring(self, message: ScoresMeasuring) -> None:
        """How far it is."""
        self._progress = message.text
        self._changed()

    def on_scores_measured(self, message: ScoresMeasured) -> None:
        """It is over, well or not."""
        self._measuring, self._progress = None, ""
        self._look()
        self._draw()
        self.shell.say(f"not scored: {message.failure}" if message.failure else "")

    async def action_open(self) -> None:
        hint = "JSONL or CSV with a score; family, gold, id, prompt, response if it has them"
        await self.app.push_screen(Ask("score file from elsewhere", "", hint), self._open)

    def _open(self, name: str | None) -> None:
        if name is not None:
            path = Path(name).expanduser().absolute()
            self._files = (*(file for file in self._files if file != path), path)
            self.update()

    def action_forget(self) -> None:
        self._files = ()
        self.update()
        self.shell.say("only runs now")

    async def action_explain(self) -> None:
        tails = self.tails
        found = [*remarks(tails, tails.families), *tails.bad_lines()] if tails else []
        pairs = [*EXPLANATIONS, *(("here", line) for line in found)]
        await self.app.push_screen(Reader("tails of raw scores", labelled(pairs)))

    def action_copy(self) -> None:
        if self.tails:
            lines = table_lines(self.tails, self.tails.families, None)
            self.app.copy_to_clipboard("\n".join(lines))
            self.shell.say(f"copied {len(lines) - 1} rows")

    async def action_write(self) -> None:
        hint = ".csv: the figures; .json: counts and edges too"
        await self.app.push_screen(Ask("write the tails to", "tails.csv", hint), self._write)

    def _write(self, name: str | None) -> None:
        if name is not None and self.tails:
            as_json = name.lower().endswith(".json")
            self.shell.write(Path(name), (json_text if as_json else csv_text)(self.tails))

    async def action_leave(self) -> None:
        if self._measuring:
            self._measuring.set()
            self.shell.say("cancelling")
        else:
            await self.app.run_action("pane('runs')")
