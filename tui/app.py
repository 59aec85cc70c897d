"""The dashboard's shell: panes by key, workers that post, handlers that change the state."""

import gc
import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.filter import NoColor
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from rlhf.runlog import LOG_NAME

from .background import Background, Work
from .bars import status_line, tabs_line
from .columns import is_metric
from .compare import difference_lines
from .driver import ConsoleDriver
from .exits import Exit
from .looks import LOOKS, THEMES, chosen_look
from .measure_desk import MeasureDesk
from .messages import (
    CannotList,
    Chosen,
    CompareAsked,
    ConfigsRead,
    CurvesChanged,
    MeasureAsked,
    Measuring,
    Notice,
    Preferred,
    RunsChanged,
    WriteAsked,
)
from .palette import commands, help_text
from .panes import PANES
from .preferences import load, save
from .render import clean
from .screens.dialogs import Picker, Reader, labelled
from .screens.pane import Pane
from .state import State, differences
from .widgets.lines import Lines
from .widgets.runs_table import RunsTable

if TYPE_CHECKING:
    from .place import Place

NOTICE_S = 6.0
AGES_S = 20.0  # between looks at whether an age reads differently
SHORT = 16  # lines below which captions give way to rows


class ConsoleApp(App[int]):
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
        Binding("q,ctrl+q,ctrl+c", "leave", "quit", tooltip="Leave; runs go on without this"),
    ]

    def __init__(self, place: "Place", look: str | None = None) -> None:
        super().__init__(driver_class=ConsoleDriver)
        if self.no_color:
            self._filters[-1] = NoColor()  # Textual's own choice here still sends greys
        self.place = place
        self.state = State()
        self._kept_look = load(place.view, self.state)
        self.look = look or self._kept_look or chosen_look()
        self.animation_level = "none"
        self.background = Background(place, self.post_message, self._work)
        self._notice: tuple[str, float] = ("", 0.0)
        self.desk = MeasureDesk(self.state, self.background, place.read_only)
        self._current = PANES[0].name

    # -- shell -----------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Tabs, the panes (one shown), a status line."""
        yield Lines(id="tabs")
        with Container(id="panes"):
            for kind in PANES:
                pane = kind.make(self.state, self.look, self)
                pane.id = f"pane-{kind.name}"
                pane.display = kind.name == self._current
                yield pane
        yield Lines(id="status")

    def on_mount(self) -> None:
        """Dress, watch over the terminal, and start the workers."""
        for theme in THEMES.values():
            self.register_theme(theme)
        self._dress()
        driver = self._driver
        if isinstance(driver, ConsoleDriver):
            driver.ascii = self.look == "ascii"
            driver.on_end = self._end
            driver.last_will = self.background.end_now
        self.background.start()
        self.set_interval(AGES_S, lambda: self.query_one(RunsTable).renew_ages())
        self.pane.focus_default()
        self._bars()

    def _dress(self) -> None:
        self.theme = THEMES["light" if self.look == "light" else "dark"].name

    def on_resize(self, event: events.Resize) -> None:
        """Low windows keep their lines for rows."""
        self.screen_stack[0].set_class(event.size.height < SHORT, "short")
        self._bars()

    @property
    def pane(self) -> Pane:
        """The pane that is shown."""
        return self.screen_stack[0].query_one(f"#pane-{self._current}", Pane)

    def action_pane(self, name: str) -> None:
        """Show another pane."""
        if name != self._current:
            self.pane.display = False
            self._current = name
            self.pane.display = True
        self.pane.update()
        self.pane.focus_default()
        self._bars()

    def _bars(self) -> None:
        """The lines above and below the pane."""
        room = self.size.width
        where = "/".join(self.place.task.absolute().parts[-2:])
        title = f"{'read-only  ' if self.place.read_only else ''}task {where} "
        notice = self._notice[0] if time.monotonic() < self._notice[1] else ""
        said = notice or self.state.trouble or self.desk.text
        base = self.screen_stack[0]
        tabs = tabs_line(PANES, self._current, title, room)
        base.query_one("#tabs", Lines).show([tabs])
        base.query_one("#status", Lines).show([status_line(said, self.pane.status(), room)])

    async def on_event(self, event: events.Event) -> None:
        """Keys are taken one at a time; everything else goes Textual's way."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._take_key(event)
        else:
            await super().on_event(event)

    async def _take_key(self, event: events.Key) -> None:
        """Finish what a key does, a change of focus included, before the next key is looked at.

        Textual posts a key to the focused widget and goes on, so of `/state` typed fast, or by a
        script, the letters would still go to the list. (Private names of the pinned Textual.)
        """
        if await self._check_bindings(event.key, priority=True):
            return
        if isinstance(self.focused, Input) and event.is_printable:
            await self.focused._on_key(event)
        else:
            await self._check_bindings(event.key)

    # -- workers ---------------------------------------------------------------------------

    def _work(self, group: str, work: Work) -> None:
        self.run_worker(work, name=group, group=group, thread=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed is told in a dialog that names its log."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        where = self.background.record(event.worker.name, error)
        facts = [("what", event.worker.name), ("error", clean(str(error)) or type(error).__name__)]
        body = labelled([*facts, ("its log", clean(where))])
        self.push_screen(Reader("Something in the background failed", body))

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
        self._bars()
        self.desk.unasked()

    def on_cannot_list(self, message: CannotList) -> None:
        """What keeps the runs from being listed, until they can be again."""
        self.state.trouble = message.reason
        self.pane.update()
        self._bars()

    def on_curves_changed(self, message: CurvesChanged) -> None:
        """Rows arrived."""
        self.state.curves |= message.curves
        self.state.forget_curves()
        if self._current != "runs":
            self.pane.update()
            self._bars()

    def open_run(self, key: str) -> None:
        """Show a run's curves."""
        if key in self.state.runs:
            self.state.open(key)
            self._follow_chosen()
            self.action_pane("run")

    def on_chosen(self, message: Chosen) -> None:
        """Other marks: other curves. The pane that chose shows them already."""
        self._follow_chosen()

    def _follow_chosen(self) -> None:
        folders = self.state.folders
        self.background.follow({key: folders[key] / LOG_NAME for key in self.state.overlaid()})
        self.state.forget_curves()

    def on_notice(self, message: Notice) -> None:
        """What a worker has to say."""
        self.say(message.text)

    def say(self, text: str) -> None:
        """Say something in the status line for a while; nothing said only renews it."""
        self._notice = (text, time.monotonic() + NOTICE_S)
        if text:
            self.set_timer(NOTICE_S + 0.1, self._bars)
        self._bars()

    def on_measure_asked(self, message: MeasureAsked) -> None:
        """Measure the runs, one at a time, in a child process."""
        self.say(self.desk.asked(message.keys))

    def on_measuring(self, message: Measuring) -> None:
        """How far the evaluation is."""
        self.desk.text = message.text
        self._bars()

    def on_compare_asked(self, message: CompareAsked) -> None:
        """Read the settings in a worker; the dialog follows."""
        self.background.read_configs({key: self.state.folders[key] for key in message.keys})

    def on_configs_read(self, message: ConfigsRead) -> None:
        """In which settings the runs differ."""
        compared = {key: self.state.runs[key] for key in message.configs if key in self.state.runs}
        lines = difference_lines(differences(message.configs), compared)
        body = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        self.push_screen(Reader("settings in which these runs differ", body))

    def on_preferred(self, message: Preferred) -> None:
        """Keep what the person wants for the next time."""
        if not self.place.read_only:
            wanted = (self.place.view, list(self.state.columns), self._kept_look)
            self._work("prefer", partial(save, *wanted))

    def on_write_asked(self, message: WriteAsked) -> None:
        """Write a file in a worker, which says what became of it."""
        if self.place.read_only:
            self.say("--read-only: nothing is written")
        else:
            self.background.write(message.path, message.text)

    # -- what keys do ----------------------------------------------------------------------

    async def action_keys(self) -> None:
        """The keys that do something here."""
        await self.push_screen(Reader("keys", help_text(self.screen)))

    async def action_palette(self) -> None:
        """Every command by name."""
        found = commands(self.screen, self, LOOKS)

        async def run(key: str | None) -> None:
            if key is not None:
                await self.run_action(*found[key].call)

        await self.push_screen(Picker("command", [c.choice for c in found.values()]), run)

    def action_sort_by(self, key: str) -> None:
        """Sort the runs by a field, numbers from the highest."""
        self.state.sort_by(key, is_metric(key))
        self.action_pane("runs")

    def action_look(self, look: str) -> None:
        """Change the look, for good."""
        self.look = self._kept_look = look
        self.post_message(Preferred())
        driver = self._driver
        if isinstance(driver, ConsoleDriver):
            driver.ascii = look == "ascii"
        for pane in self.query(Pane):
            pane.look = look
            pane.update()
        self._dress()
        self.screen.refresh()

    def action_leave(self) -> None:
        """Leave; what runs goes on."""
        self._end(Exit.OK)

    def _end(self, code: int) -> None:
        self.background.end()
        self.exit(code)

    def on_unmount(self) -> None:
        """However it ends, nothing goes on beside it."""
        self.background.end()
