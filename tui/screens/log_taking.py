"""Taking lines out of a log that is shown: a range, a copy, a file."""

from pathlib import Path

from ..log_page import Page
from ..log_places import lines_from
from ..log_reading import LogReader
from ..render import number_of
from ..state import State
from .dialogs import Ask
from .pane import Pane, Shell

MOST_COPIED = 70_000  # bytes: what terminals take by OSC 52


class LogTaking(Pane):
    """A page of a log with a cursor line and, if one was begun, a range."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._shown: tuple[str, bool] | None = None  # run or job, metrics
        self._page = Page()
        self._at = 10**9  # line of the page under the cursor
        self._from: int | None = None  # offset at which a range begins

    @property
    def reader(self) -> LogReader:
        """Who reads the log."""
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError

    def _paths(self, key: str) -> list[Path]:
        raise NotImplementedError

    def _range(self) -> range:
        lines = self._page.lines
        if self._from is None:
            return range(self._at, self._at + 1)
        low, high = self._ends()
        inside = [n for n, line in enumerate(lines) if low <= line.offset <= high]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    def _ends(self) -> tuple[int, int]:
        lines = self._page.lines
        here = lines[self._at].offset if 0 <= self._at < len(lines) else 0
        begin = here if self._from is None else self._from
        return min(begin, here), max(begin, here)

    def action_range(self) -> None:
        lines = self._page.lines
        known = self._from is None and 0 <= self._at < len(lines)
        self._from = lines[self._at].offset if known else None
        if self._page.following and known:
            self.reader.go_to(lines[0].offset)
        self._draw()

    def action_copy(self) -> None:
        low, high = self._ends()
        path, lines = self._open_path(), [ln for ln in self._page.lines if low <= ln.offset <= high]
        if path is None or not lines:
            return
        if self._from is None or self._page.filtered:
            self._copied("\n".join(line.text for line in lines))
        else:
            self.shell.work("copy", lambda: self._read_range(path, low, high))

    def _read_range(self, path: Path, low: int, high: int) -> None:
        lines = [line.text for line in lines_from(path, low, 5000) if line.offset <= high]
        self.app.call_from_thread(self._copied, "\n".join(lines))

    def _copied(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self.app.copy_to_clipboard(data[:MOST_COPIED].decode("utf-8", "ignore"))
        cut = f", cut to {MOST_COPIED // 1000} kB: w writes all" if len(data) > MOST_COPIED else ""
        self._from = None
        self._draw()
        self.shell.say(f"copied {number_of(text.count(chr(10)) + 1, 'line')}{cut}")

    def _open_path(self) -> Path | None:
        paths = self._paths(self._shown[0]) if self._shown else []
        return next((path for path in paths if path.name == self._page.name), None)

    async def action_write(self) -> None:
        hint = "the filter's whole result" if self._page.filtered else "the lines on screen"
        await self.app.push_screen(Ask("write to", "log.txt", hint), self._write)

    def _write(self, name: str | None) -> None:
        if name is not None:
            shown = "".join(f"{line.text}\n" for line in self._page.lines)
            text = self.reader.filtered_text() if self._page.filtered else shown
            self.shell.write(Path(name), text)
