"""The dashboard's shell: panes by key, workers that post, handlers that change the state."""

import gc
import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from rlhf.runlog import LOG_NAME

from .acting_app import ActingApp
from .background import Background
from .bars import status_line, tabs_line
from .columns import is_metric
from .dressed import DressedApp
from .driver import ConsoleDriver
from .exits import Exit
from .looks import chosen_look
from .measure_desk import MeasureDesk
from .messages import (
    CannotList,
    Chosen,
    CurvesChanged,
    JobsChanged,
    MeasureAsked,
    Measuring,
    Notice,
    Preferred,
    RunsChanged,
)
from .one_key import OneKeyApp
from .palette_app import PaletteApp
from .paned_app import PanedApp
from .panes import PANES
from .preferences import Preferences, Wanted
from .screens.pane import Pane
from .state import State
from .watching import in_short
from .widgets.lines import Lines
from .widgets.runs_table import RunsTable

if TYPE_CHECKING:
    from .place import Place

NOTICE_S = 6.0
AGES_S = 20.0  # between looks at whether an age reads differently


class ConsoleApp(ActingApp, PanedApp, DressedApp, PaletteApp, OneKeyApp):
    """The dashboard over one task and workspace."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(pane.key, f"pane('{pane.name}')", pane.title, tooltip=f"Show {pane.title}")
            for pane in PANES
        ),
        Binding("colon,ctrl+p", "palette", "commands", key_display=":", tooltip="All commands"),
        Binding("question_mark", "keys", "help", key_display="?", tooltip="All keys"),
        Binding("q", "leave", "quit", tooltip="Leave; runs go on without this"),
        Binding("ctrl+q,ctrl+c", "leave", "quit", priority=True, tooltip="Leave, from anywhere"),
    ]

    def __init__(self, place: "Place", look: str | None = None) -> None:
        self.state = State()
        self.preferences = Preferences(place.view)
        self.preferences.load(self.state)
        super().__init__(look or self.preferences.look or chosen_look())
        self.place = place
        self.background = Background(place, self.post_message, self.work)
        self._notice: tuple[str, float] = ("", 0.0)
        self.desk = MeasureDesk(self.state, self.background, place.read_only)
        self._awaited: dict[str, str | None] = {}

    # -- shell -----------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Tabs, the panes (one shown), a status line."""
        yield Lines(id="tabs")
        with Container(id="panes"):
            yield self.made(self.current)
        yield Lines(id="status")

    def on_mount(self) -> None:
        """Dress, watch over the terminal, and start the workers."""
        self.make_room()
        self.dress()
        driver = self._driver
        if isinstance(driver, ConsoleDriver):
            driver.on_end = self._end
            driver.last_will = self.background.end_now
        self.background.start()
        self.set_interval(AGES_S, lambda: self.query_one(RunsTable).renew_ages())
        self.pane.focus_default()
        self.renew()

    def leaving(self) -> None:
        """Where no run is open yet, the panes show the one under the list's cursor."""
        row = self.query_one(RunsTable).cursor_row
        if self.state.open_run is None and row and row.runs[0]["id"] in self.state.runs:
            self.state.open(row.runs[0]["id"])
            self._follow_chosen()

    def renew(self) -> None:
        """The lines above and below the pane."""
        room = self.size.width
        where = "/".join(self.place.task.absolute().parts[-2:])
        title = f"{'read-only  ' if self.place.read_only else ''}task {where} "
        notice = self._notice[0] if time.monotonic() < self._notice[1] else ""
        said = notice or self.state.trouble or self.desk.text
        tabs = tabs_line(PANES, self.current, title, room, in_short(self.state.watch))
        self.base.query_one("#tabs", Lines).show([tabs])
        self.base.query_one("#status", Lines).show([status_line(said, self.pane.status(), room)])

    # -- messages --------------------------------------------------------------------------

    def on_runs_changed(self, message: RunsChanged) -> None:
        """A scan's result."""
        first = not self.state.loaded
        if not self.state.take(message.listing):
            return
        if first:
            gc.freeze()  # thousands of runs would make every later full collection a pause
        self._follow_chosen()
        self.pane.update()
        told = self.state.watch.tell()
        if told:
            self.say(told)
            if self.state.watch.bell:
                self.bell()
        else:
            self.renew()
        self.desk.unasked()
        self._show_awaited()

    def await_run(self, key: str, pane: str | None) -> None:
        """Put the cursor on a run as soon as it is listed; with `pane`, open it there."""
        self._awaited[key] = pane
        self._show_awaited()

    def _show_awaited(self) -> None:
        for key in [key for key in self._awaited if key in self.state.runs]:
            pane = self._awaited.pop(key)
            self.query_one(RunsTable).go_to(key)
            if pane is not None:
                self.call_later(self.open_run, key, pane)

    def on_cannot_list(self, message: CannotList) -> None:
        """What keeps the runs from being listed, until they can be again."""
        self.state.trouble = message.reason
        self.pane.update()
        self.renew()

    def on_jobs_changed(self, message: JobsChanged) -> None:
        """Another line of jobs; only its pane and the bar show it."""
        self.state.watch.jobs, self.state.watch.paused = message.jobs, message.paused
        if self.current == "jobs":
            self.pane.update()
        self.renew()

    def on_curves_changed(self, message: CurvesChanged) -> None:
        """Rows arrived."""
        self.state.curves |= message.curves
        self.state.forget_curves()
        if self.current != "runs":
            self.pane.update()
            self.renew()

    async def open_run(self, key: str, pane: str = "run") -> None:
        """Make `key` the open run and show it in a pane."""
        if key in self.state.runs:
            self.state.open(key)
            self.state.logged = None  # the log of the run that is opened now
            self._follow_chosen()
            await self.action_pane(pane)

    def on_chosen(self, message: Chosen) -> None:
        """Other marks: other curves. The pane that chose shows them already."""
        self._follow_chosen()

    def _follow_chosen(self) -> None:
        folders = self.state.folders
        shown = [key for key in self.state.overlaid() if key in folders]
        self.background.follow({key: folders[key] / LOG_NAME for key in shown})
        self.state.forget_curves()

    def on_notice(self, message: Notice) -> None:
        """What a worker has to say."""
        self.say(message.text)

    def say(self, text: str) -> None:
        """Say something in the status line for a while; nothing said clears and renews it."""
        self._notice = (text, time.monotonic() + NOTICE_S)
        if text:
            self.set_timer(NOTICE_S + 0.1, self.renew)
        self.renew()

    def on_measure_asked(self, message: MeasureAsked) -> None:
        """Measure the runs, one at a time, in a child process."""
        self.say(self.desk.asked(message.keys))

    def on_measuring(self, message: Measuring) -> None:
        """How far the evaluation is."""
        self.desk.text = message.text
        self.renew()

    def on_preferred(self, message: Preferred) -> None:
        """Keep what the person wants for the next time."""
        if not self.place.read_only:
            wanted = self.preferences.of(self.state)
            self.work("prefer", partial(self._keep, wanted))

    def _keep(self, wanted: Wanted) -> None:
        if failure := self.preferences.save(wanted):
            self.background.notice(failure)

    # -- what keys do ----------------------------------------------------------------------

    async def action_sort_by(self, key: str) -> None:
        """Sort the runs by a field, numbers from the highest."""
        self.state.sort_by(key, is_metric(key))
        await self.action_pane("runs")

    def action_ring(self, on: bool) -> None:
        """Ring the terminal's bell for notes, or no longer; kept for the next time."""
        self.state.watch.bell = on
        self.say(f"the bell is {'on' if on else 'off'}")
        self.post_message(Preferred())

    def wear(self, look: str) -> None:
        """Another look, for good."""
        super().wear(look)
        self.preferences.look = look
        self.post_message(Preferred())
        for pane in self.query(Pane):
            pane.look = look
            pane.update()

    def action_leave(self) -> None:
        """Leave; what runs goes on."""
        self._end(Exit.OK)

    def _end(self, code: int) -> None:
        self.background.end()
        self.exit(code)
