"""Pane 2: the curves of the open run and of all marked ones."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType

from rlhf.vocab import FAMILIES

from ..curves import EACH, METRICS, OVERALL, Curve, families, titled
from ..fields import Run
from ..legend import facts_line, legend_lines
from ..messages import Chosen
from ..plotting import Series
from ..readout import read_out
from ..state import State
from ..widgets.lines import Lines
from ..widgets.plot import Plot
from .pane import Shell
from .run_actions import RunActions
from .run_taking import RunTaking

NOTHING_OPEN = "No run is open. Choose one in Runs (1) and press enter."
MOST = len(FAMILIES)  # plots that can be on screen at once
ROOM_FOR_FOUR = (100, 34)  # cells of the terminal from which on four plots are shown
ROOM_FOR_SIX = (70, 20)


class RunPane(RunActions, RunTaking):
    """Curves with one cursor through all plots, and what they say at it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "metric(1)", "metric", tooltip="Next metric: proxy, KL, shaped, entropy"),
        Binding("M", "metric(-1)", "metric back", tooltip="Previous metric"),
        Binding("v", "scope(1)", "family", tooltip="Next family; after the last, each"),
        Binding("V", "scope(-1)", "family back", tooltip="Previous family"),
        Binding("z", "zoom", "one/all", tooltip="One plot large, or as many as there is room for"),
        Binding("L", "log", "log axis", tooltip="Value axis logarithmic or linear"),
        Binding("left,h", "cursor(-1)", "back", tooltip="Read the row before"),
        Binding("right,l", "cursor(1)", "on", tooltip="Read the next row"),
        Binding("shift+left,pageup", "cursor(-10)", "ten back", tooltip="Read ten rows before"),
        Binding("shift+right,pagedown", "cursor(10)", "ten on", tooltip="Read ten rows further"),
        Binding("home", "cursor(-1000000)", "first row", tooltip="Read the first row"),
        Binding("end,f", "follow", "follow", tooltip="Read its newest row, and stay with it"),
        Binding("up,k", "other(-1)", "run above", tooltip="Open the run above in the list"),
        Binding("down,j", "other(1)", "run below", tooltip="Open the run below in the list"),
        Binding("space", "mark", "mark", tooltip="Mark the open run, so that it stays overlaid"),
        Binding("escape", "app.pane('runs')", "back", tooltip="Back to the list"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._log = False
        self._alone = False
        self._at: float | None = None  # None follows the newest row

    def plots(self) -> Iterator[Plot]:
        """One a metric, or one a family."""
        for number in range(MOST):
            yield Plot(id=f"plot-{number}")

    def on_mount(self) -> None:
        """Show what there is."""
        self.update()

    def on_resize(self, event: events.Resize) -> None:
        """Another size may have room for more plots."""
        self.update()

    # -- what is shown ---------------------------------------------------------------------

    @property
    def steps(self) -> list[float]:
        """Every step at which an overlaid run has a row."""
        return sorted({step for curve in self._curves() for step in curve.steps})

    def _curves(self) -> list[Curve]:
        """Those of the overlaid runs, as far as they have been read."""
        return [self.state.curves[k] for k in self.state.overlaid() if k in self.state.curves]

    @property
    def cursor(self) -> float | None:
        """The step that is read out: the open run's newest, unless another was chosen."""
        if self._at is not None:
            return self._at
        mine = self.state.curves.get(self.state.open_run or "", Curve())
        return next(reversed(mine.steps or self.steps), None)

    def _scopes(self) -> list[str]:
        return [OVERALL, *families(self._curves()), EACH]

    @property
    def scope(self) -> str:
        """What is shown; a family chosen elsewhere may be none of these runs'."""
        return self.state.scope if self.state.scope in self._scopes() else OVERALL

    def _scope_words(self) -> str:
        of = families(self._curves())
        place = f", family {of.index(self.scope) + 1} of {len(of)}" if self.scope in of else ""
        return f"{titled(self.scope)}{place}"

    def panels(self) -> list[tuple[str, str]]:
        """(metric, scope) of each plot that is shown."""
        metric, scope = "proxy" if self._root.on else self.state.metric, self.scope
        # the terminal's size: a pane's own is nothing while it is being laid out
        room = self.app.size
        if scope == EACH:
            if room.width >= ROOM_FOR_SIX[0] and room.height >= ROOM_FOR_SIX[1]:
                return [(metric, family) for family in FAMILIES]
            return [(metric, OVERALL)]
        if (
            self._alone
            or self._root.on
            or room.width < ROOM_FOR_FOUR[0]
            or room.height < ROOM_FOR_FOUR[1]
        ):
            return [(metric, scope)]
        return [(m, scope) for m in METRICS if scope == OVERALL or METRICS[m][2]]

    def update(self) -> None:
        """Show the open run, or say that none is."""
        shown = self.state.overlaid()
        self._legend(shown)
        panels = self.panels() if shown else []
        self.lay_out(len(panels))
        for number, plot in enumerate(self.query(Plot)):
            plot.display = number < len(panels)
            if plot.display:
                self._fill(plot, panels[number], shown)

    def _fill(self, plot: Plot, panel: tuple[str, str], shown: Sequence[str]) -> None:
        metric, scope = panel
        if self._root.on:
            plot.show(*self._root.plot(scope, shown), self._log, None, self.look)
            return
        series = []
        for key in reversed(shown):  # the open run is drawn last, on top
            curve = self.state.curves.get(key)
            if curve is not None:
                ys = curve.series(metric, scope)
                series.append(Series(self.state.slots[key], curve.steps, ys))
        here = "▸ " if metric == self.state.metric and len(self.panels()) in (2, 4) else ""
        title = f"{here}{metric}" if scope == OVERALL else f"{here}{titled(scope)} {metric}"
        unit = f"  {METRICS[metric][1]}, by step"
        plot.show(title, unit, series, self._log, self.cursor, self.look)

    def _legend(self, shown: Sequence[str]) -> None:
        facts, readout = self.query_one("#facts", Lines), self.query_one("#readout", Lines)
        room = self.app.size.width - 2
        facts.show([facts_line(self.state, shown[0], room)] if shown else [Text(NOTHING_OPEN)])
        if self._root.on and shown:
            self._root.look(shown)
            told = self._root.lines(shown, self.panels()[0][1], self.app.size, self.look)
            readout.styles.height = len(told)
            readout.show(told)
            return
        lines = self.read_out(self.app.size.width) if shown else []
        most = max(2, self.app.size.height // 3)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"  and {len(lines) - most + 1} more"]
        readout.styles.height = len(lines)
        readout.show(legend_lines(self.state, shown, lines, self.look))

    def read_out(self, room: int, in_full: bool = False) -> list[str]:
        """What the curves say at the cursor, the numbers in brief or in full."""
        shown = self.state.overlaid()
        return read_out(self.state, shown, self.panels(), self.cursor, room, in_full)

    def status(self) -> str:
        """Which metric of which scope, on which axis, at which step."""
        state, at = self.state, self.cursor
        if not state.overlaid():
            return "no run is open"
        bad = sum(curve.bad_lines for curve in state.curves.values())
        if self._root.on:
            axis = "log" if self._log else "linear"
            return f"proxy against root KL, {self._scope_words()}  {axis}  K back to steps"
        parts = [f"{state.metric}, {self._scope_words()}", "log" if self._log else "linear"]
        parts.append("no row yet" if at is None else f"step {at:g}")
        if self._at is None and at is not None:
            parts[-1] += " (newest)"
        if bad:
            parts.append(f"{bad} bad log lines")
        return "  ".join(parts)

    # -- what keys do ----------------------------------------------------------------------

    def targets(self) -> list[Run]:
        """The open run."""
        key = self.state.open_run
        return [self.state.runs[key]] if key else []

    def _changed(self) -> None:
        self.update()
        self.shell.say("")

    def action_metric(self, by: int) -> None:
        if self._against_root():
            return
        names = list(METRICS)
        if self.scope != OVERALL:
            names = [name for name in names if METRICS[name][2]]
        place = names.index(self.state.metric) if self.state.metric in names else 0
        self.state.metric = names[(place + by) % len(names)]
        self._changed()

    def action_scope(self, by: int) -> None:
        scopes = self._scopes()
        self.state.look_at(scopes[(scopes.index(self.scope) + by) % len(scopes)])
        self._changed()

    def action_zoom(self) -> None:
        before = self.panels()
        self._alone = not self._alone
        self._changed()
        if self.panels() == before:
            self.shell.say("no room for more plots at this size")

    def action_log(self) -> None:
        self._log = not self._log
        self._changed()

    def action_cursor(self, by: int) -> None:
        steps, here = self.steps, self.cursor
        if self._against_root() or here is None:
            return
        place = bisect_right(steps, here) - 1
        self._at = steps[max(0, min(place + by, len(steps) - 1))]
        self._changed()

    def action_follow(self) -> None:
        self._at = None
        self._changed()

    def action_mark(self) -> None:
        if self.state.open_run:
            self.state.toggle_marks([self.state.open_run])
            marked = self.state.open_run in self.state.marks
            self.post_message(Chosen())
            self.shell.say("marked" if marked else "unmarked")
