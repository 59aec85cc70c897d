"""Pane 4: the output of any run or job."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from rlhf.runlog import LOG_NAME
from sessions.states import LIVE

from ..disk_table import size
from ..log_page import Page
from ..log_reading import FAILED, UNWRITTEN, LogReader
from ..messages import PageRead
from ..render import called, clean
from ..state import State
from ..widgets.choices import Choice
from ..widgets.lines import Lines
from ..widgets.log_view import LogView
from .dialogs import Picker
from .log_finding import LogFinding
from .pane import Shell

SIDEWAYS = 20  # cells


class LogsPane(LogFinding):
    """Pages of a log, following, search, filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "pick", "open ...", tooltip="Choose the run or job by typing"),
        Binding("m", "metrics", "metrics", tooltip="The log of metrics, or the output"),
        Binding("f", "follow", "follow", tooltip="Go to the end and stay there"),
        Binding("slash", "search", "search", key_display="/", tooltip="Find a regular expression"),
        Binding("n", "match(1)", "next", tooltip="Next match"),
        Binding("N", "match(-1)", "previous", tooltip="Match before"),
        Binding("ampersand", "filter", "filter", key_display="&", tooltip="Only lines that match"),
        Binding("e", "error", "error", tooltip="First error; again: the next one"),
        Binding("down,j", "move(1)", "down", tooltip="Next line"),
        Binding("up,k", "move(-1)", "up", tooltip="Line above"),
        Binding("pagedown,space", "page(1)", "page down", tooltip="Next page"),
        Binding("pageup", "page(-1)", "page up", tooltip="Page above"),
        Binding("home", "top", "top", tooltip="First line"),
        Binding("end", "follow", "end", tooltip="Last line, and follow"),
        Binding("left,h", "sideways(-1)", "left", tooltip="Scroll left"),
        Binding("right,l", "sideways(1)", "right", tooltip="Scroll right"),
        Binding("W", "wrap", "wrap", tooltip="Wrap long lines, or cut them"),
        Binding("v", "range", "range", tooltip="Begin a range of lines here, or drop it"),
        Binding("y", "copy", "copy", tooltip="Copy the line or the range"),
        Binding("w", "write", "write", tooltip="Write what is shown, or the filter's result"),
        Binding("escape", "back", "back", tooltip="End the search, close the filter, go back"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._metrics = False
        self._opened: list[Path] = []  # of which one is read
        self._reader: LogReader | None = None

    def compose(self) -> ComposeResult:
        """Which log it is, over the log."""
        yield Lines(id="log-head")
        yield LogView()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def on_mount(self) -> None:
        """Begin to read."""
        self.shown()
        self.update()

    def on_unmount(self) -> None:
        """Nothing reads on beside a dashboard that is gone."""
        self.hidden()

    def shown(self) -> None:
        """Read, as long as the pane is on screen."""
        if self._reader is None or self._reader.closed:
            stop = self.shell.background.stopping
            self._reader = LogReader(lambda page: self._tell(page), stop)
            self._shown = None
            self.shell.work("logs", self._reader.run)

    def hidden(self) -> None:
        """Read no more."""
        if self._reader is not None:
            self._reader.close()

    def _tell(self, page: Page) -> None:
        self.post_message(PageRead(page))

    @property
    def reader(self) -> LogReader:
        if self._reader is None:
            self.shown()
        assert self._reader is not None
        return self._reader

    def on_resize(self) -> None:
        """Another number of lines is on screen."""
        self.reader.resize(self.app.size.height - 3)

    def focus_default(self) -> None:
        """Give the keys to the log."""
        self.screen.set_focus(self.view)

    def _wanted(self) -> str | None:
        """The log that was asked for; the one that is shown stays when its run goes."""
        state, stays = self.state, self._shown[0] if self._shown else None
        return state.logged or state.open_run or stays or next(iter(state.runs), None)

    def update(self) -> None:
        """Open the wanted log if it is another one."""
        key = self._wanted()
        if key is not None and (key, self._metrics) != self._shown:
            self._shown = (key, self._metrics)
            self._page, self._from = Page(said="reading ..."), None
            self._opened = self._paths(key)
            self.reader.resize(self.app.size.height - 3)
            self.reader.open(*self._opened)
        self._draw()

    def _paths(self, key: str) -> list[Path]:
        from sessions.paths import OUTPUT_LOG, Workspace

        jobs = Workspace(self.shell.place.workspace).jobs
        folder = self.state.folders.get(key, jobs / key)
        return [folder / LOG_NAME] if self._metrics else [folder / OUTPUT_LOG, folder / LOG_NAME]

    def on_page_read(self, message: PageRead) -> None:
        """Another page of the log that is open: lines came, or the view moved."""
        if message.page.path not in self._opened:
            return
        self._page = message.page
        self._draw()
        self.shell.renew()

    def _draw(self) -> None:

        page, last = self._page, len(self._page.lines) - 1
        self._at = last if page.following else max(0, min(self._at, last))
        empty = page.said or "nothing to show"
        if page.said == UNWRITTEN and self._ended():
            empty = "it wrote neither output nor metrics: o chooses another run or job"
        if page.filtered and not page.lines and page.said != FAILED:
            empty = "searching ..." if page.searching else "no line matches (esc closes the filter)"
        self.view.show(page.lines, page.spans, self._range(), f" {empty}")
        key = self._shown[0] if self._shown else None
        name = self.state.runs.get(key or "", {}).get("name", key)
        head = f" {clean(str(name))}  {page.name}"
        head += "  (no output: rows of metrics; m: as written)" if page.rows else ""
        head = head if key else " No run is open: o chooses one"
        self.query_one("#log-head", Lines).show([Text(head, style="bold")])

    def _ended(self) -> bool:
        run = self.state.runs.get(self._shown[0]) if self._shown else None
        return run is not None and run["state"] not in LIVE

    def status(self) -> str:
        """Position, size, following, search."""
        page = self._page
        parts = ["following" if page.following else "not following (f)"]
        if page.first is not None:
            parts.append(f"line {page.first + max(0, self._at):,} of {page.known:,}")
        if page.size:
            parts.append(size(page.size))
        if page.searching or page.found:
            word = "searching (esc)" if page.searching and not page.filtered else "matches"
            parts.append(f"{word}: {page.found:,}" + ("+" if page.found >= 10_000 else ""))
        if page.filtered:
            parts.append(f"only {clean(self._searched)}")
        if page.said and page.lines:
            parts.insert(0, clean(page.said))
        return "  ".join(parts)

    # -- what keys do ----------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        if 0 <= self._at + by < len(self._page.lines) and not self._page.following:
            self._at += by
            self._draw()
            self.shell.say("")
        else:
            self.reader.move(by)

    def action_page(self, by: int) -> None:
        self.reader.move(by * max(1, self.app.size.height - 4))

    def action_top(self) -> None:
        self._at = 0
        self.reader.go_to(0)

    def action_follow(self) -> None:
        self.reader.go_to(None)

    def action_sideways(self, by: int) -> None:
        longest = max([len(line.text) for line in self._page.lines] or [0])
        self.view.left = max(0, min(self.view.left + by * SIDEWAYS, 2 * longest))
        self.view.renew()

    def action_wrap(self) -> None:
        self.view.wrap = not self.view.wrap
        self.view.renew()

    def action_metrics(self) -> None:
        self._metrics = not self._metrics
        self.update()

    async def action_pick(self) -> None:
        runs = [Choice(k, called(r), r["state"]) for k, r in self.state.runs.items()]
        jobs = [j for j in self.state.watch.jobs if j.id not in self.state.runs]
        found = [*runs, *(Choice(j.id, clean(j.name), f"{j.kind} {j.state}") for j in jobs)]
        await self.app.push_screen(Picker("log of", found), self._picked)

    def _picked(self, key: str | None) -> None:
        if key is not None:
            self.state.logged = key
            self.update()

    async def action_back(self) -> None:
        if self._page.searching or self._page.filtered or self._page.found:
            self.reader.cancel()
        elif self._from is not None:
            self.action_range()
        else:
            await self.app.run_action("app.pane('runs')")
