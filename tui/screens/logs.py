"""Pane 4: the output of a run or a job, of any size, followed, searched, copied."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..log_reading import LogPage, LogReader
from ..messages import LogCopied, LogFilesFound, LogRead
from ..render import clean
from ..state import State
from ..widgets.choices import Choice
from ..widgets.filter_line import FilterLine
from ..widgets.lines import Lines
from ..widgets.log_view import LogView
from .dialogs import Ask, Picker, Reader
from .pane import Pane, Shell

NOTHING_OPEN = "No run is open. Choose a run or a job: o"


class LogsPane(Pane):
    """A page of a log with a cursor line; a thread of its own reads, searches in a child."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f,end,G", "follow", "follow", tooltip="The newest line, and stay with it"),
        Binding("slash", "search", "search", key_display="/", tooltip="Search (regex)"),
        Binding("n", "next(1)", "next", tooltip="The next match"),
        Binding("N", "next(-1)", "previous", tooltip="The match before"),
        Binding("ampersand", "only", "only", key_display="&", tooltip="Only lines that match"),
        Binding("e", "errors", "errors", tooltip="The first error, then the next"),
        Binding("v", "range", "range", tooltip="Begin a range at this line"),
        Binding(
            "y", "copy", "copy", tooltip="Copy the line, or the range (OSC 52: works over ssh)"
        ),
        Binding("w", "write", "write", tooltip="Write the log, or the matching lines, to a file"),
        Binding("enter", "whole", "whole line", tooltip="The whole line, wrapped"),
        Binding("o", "choose", "open ...", tooltip="Another run's or job's output"),
        Binding("m", "metrics", "metrics", tooltip="log.jsonl instead of output.log, and back"),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "home", "First line", show=False),
        Binding("left,h", "across(-20)", "left", tooltip="Further to the left"),
        Binding("right,l", "across(20)", "right", tooltip="Further to the right"),
        Binding("escape", "back", "back", tooltip="End the search, leave it, back to the list"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._page: LogPage | None = None
        self._job: tuple[str, Path] | None = None  # shown instead of the open run
        self._of: str | None = None  # what the reader was told to read
        self._was = state.open_run
        self._metrics = False
        self._across = 0
        self._only_asked = False
        self._height = 1
        self._reader: LogReader | None = None

    def compose(self) -> ComposeResult:
        """What it is, the lines, the search line."""
        yield Lines(id="log-head")
        yield LogView()
        yield FilterLine(self.keep_pattern, "regular expression; enter searches", "search")

    def shown(self) -> None:
        """Begin to read."""
        self._reader = LogReader(self._post, self.shell.background.stopping)
        self._of = None
        self.shell.work("log", self._reader.run)
        self._reader.do("size", self._height)

    def hidden(self) -> None:
        """Stop reading; a search ends with it."""
        if self._reader is not None:
            self._reader.close()

    def on_unmount(self) -> None:
        """However it ends, no thread and no child goes on."""
        self.hidden()

    def _post(self, page: LogPage) -> None:
        self.post_message(LogRead(page))

    def focus_default(self) -> None:
        """Give the keys to the lines."""
        self.screen.set_focus(self.query_one(LogView))

    # -- what is shown ---------------------------------------------------------------------

    @property
    def _folder(self) -> Path | None:
        if self._job is not None:
            return self._job[1]
        return self.state.folders.get(self.state.open_run or "")

    def update(self) -> None:
        """Read the open run's output, or the job's that was chosen."""
        if self.state.open_run != self._was:
            self._was, self._job = self.state.open_run, None
        folder = self._folder
        if folder is not None and self._reader is not None:
            key = f"{folder}{self._metrics}"
            if key != self._of:
                self._of, self._page, self._across = key, None, 0
                # looked at in the worker: a shipped run has no output of its own
                self._reader.do("output", folder, self._metrics)
        self._show()

    def _show(self) -> None:
        page = self._page
        empty = NOTHING_OPEN if self._folder is None else "reading ..."
        if page is not None:
            empty = page.note or "nothing written yet"
        self.query_one(LogView).show(page, empty, self._across)
        self.query_one("#log-head", Lines).show([Text(self._heading())])

    def _heading(self) -> str:
        if self._folder is None or self._page is None:
            return " logs"
        name = self._job[0] if self._job else self.state.runs[self.state.open_run or ""]["name"]
        told = f"{self._page.path.name}  {size_text(self._page.size)}"
        return f" {clean(name)}  {told}  {self._page.note}"

    def status(self) -> str:
        """Where in the log, following or not, and the search."""
        page = self._page
        if page is None or self._folder is None:
            return "no log is open"
        at = "" if page.first is None else f"{page.first + page.cursor + 1}/{page.total}"
        kind = "following" if page.following else "f follows"
        return "  ".join(part for part in (at, kind, clean(page.search)) if part)

    def on_log_read(self, message: LogRead) -> None:
        """A page of the log that is wanted."""
        self._page = message.page
        self._show()
        self.shell.renew()

    def on_log_view_resized(self, event: LogView.Resized) -> None:
        """Another number of lines fits."""
        self._height = event.height
        self._do("size", event.height)

    def on_log_view_scrolled(self, event: LogView.Scrolled) -> None:
        """The wheel."""
        self._do("move", event.by)

    # -- what keys do ----------------------------------------------------------------------

    def _do(self, command: str, *values: object) -> None:
        if self._reader is not None:
            self._reader.do(command, *values)

    def action_move(self, by: int) -> None:
        self._do("move", by)

    def action_page(self, by: int) -> None:
        self._do("move", by * self._height)

    def action_home(self) -> None:
        self._do("home")

    def action_follow(self) -> None:
        self._do("end")

    def action_next(self, by: int) -> None:
        self._do("next", by)

    def action_range(self) -> None:
        self._do("range")

    def action_across(self, by: int) -> None:
        self._across = max(0, self._across + by)
        self._show()

    def action_errors(self) -> None:
        from sessions.log_text import ERRORS

        self._do("errors", ERRORS)

    def action_search(self) -> None:
        self._ask(False)

    def action_only(self) -> None:
        self._ask(True)

    def _ask(self, only: bool) -> None:
        self._only_asked = only
        self.line.value = ""
        self.line.display = True
        self.screen.set_focus(self.line)

    @property
    def line(self) -> FilterLine:
        """Where the pattern is typed."""
        return self.query_one(FilterLine)

    def keep_pattern(self) -> None:
        """Search for what was typed; nothing typed leaves the search."""
        pattern = self.line.value
        self._close_line()
        if pattern:
            self._do("search", pattern, self._only_asked)
        else:
            self._do("forget")

    def _close_line(self) -> None:
        self.line.display = False
        self.focus_default()

    async def action_back(self) -> None:
        """Out of the line, then out of the search, then back to the list."""
        page = self._page
        if self.line.display:
            self._close_line()
        elif page is not None and page.search:
            self._do("cancel" if "(esc ends it)" in page.search else "forget")
        elif page is not None and page.selected:
            self._do("range")
        else:
            await self.app.run_action("pane('runs')")

    async def action_whole(self) -> None:
        page = self._page
        if page and page.cursor < len(page.rows):
            row = page.rows[page.cursor]
            title = "line" if row.number is None else f"line {row.number + 1}"
            await self.app.push_screen(Reader(title, Text(clean(row.text), overflow="fold")))

    def action_metrics(self) -> None:
        self._metrics = not self._metrics
        self.update()

    def action_copy(self) -> None:
        self._do("copy", lambda text, left: self.post_message(LogCopied(text, left)))

    def on_log_copied(self, message: LogCopied) -> None:
        """To the clipboard, by OSC 52."""
        self.app.copy_to_clipboard(message.text)
        lines = message.text.count("\n") + 1
        cut = f"; {message.left} more would be too much for a terminal: w writes" * bool(
            message.left
        )
        self.shell.say(f"copied {lines} line{'s' * (lines > 1)}{cut}")

    async def action_write(self) -> None:
        what = "the matching lines" if self._page and self._page.search else "the log"

        def named(name: str | None) -> None:
            if name is not None and self.shell.place.read_only:
                self.shell.say("--read-only: nothing is written")
            elif name is not None:
                said = self.shell.background.notice
                self._do("write", Path(name).expanduser(), said)

        hint = "a new file; what is there is not replaced"
        await self.app.push_screen(Ask(f"write {what} to", "run.log", hint), named)

    def action_choose(self) -> None:
        place = self.shell.place
        self.shell.work(
            "logs", lambda: self.post_message(LogFilesFound(job_folders(place.workspace)))
        )

    async def on_log_files_found(self, message: LogFilesFound) -> None:
        """Choose a run or a job by typing."""
        jobs = dict(message.jobs)
        choices = [Choice(f"job:{key}", clean(key), "job") for key in jobs]
        choices += [
            Choice(f"run:{key}", clean(run["name"]), f"{run['state']}  {key}")
            for key, run in self.state.runs.items()
        ]

        async def chosen(key: str | None) -> None:
            kind, _, identifier = (key or "").partition(":")
            if kind == "job":
                self._job = (identifier, jobs[identifier])
                self.update()
            elif kind == "run":
                self._job = None
                await self.shell.open_run(identifier, "logs")

        await self.app.push_screen(Picker("whose output", choices), chosen)

    def show_job(self, identifier: str) -> None:
        """Show a job's output instead of the open run's."""
        from sessions.paths import Workspace

        jobs = Workspace(self.shell.place.workspace.absolute()).jobs
        self._job = (identifier, jobs / identifier)
        self.update()


def job_folders(root: Path) -> list[tuple[str, Path]]:
    """The workspace's jobs, newest first. For a worker."""
    from sessions.paths import Workspace

    folders = [path for path in Workspace(root.absolute()).jobs.glob("*") if path.is_dir()]
    return [(path.name, path) for path in sorted(folders, key=_age, reverse=True)]


def _age(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def size_text(size: int) -> str:
    """Bytes in a unit."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
