"""Reading a log beside the event loop: one thread that owns the place in it and posts pages.

The dashboard sends commands; what is on screen comes back as a LogPage, at most one every TICK_S
unless a key asked. No Textual here.
"""

import os
import queue
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sessions.log_pages import Line, LineIndex
    from sessions.log_search import Match, Search

TICK_S = 0.1
MOST_COPIED = 70_000  # characters: what terminals take over OSC 52
MOST_MATCHES = 10_000


@dataclass(frozen=True)
class LogRow:
    """A line on screen: its number (0 is the first) if known, its text, what matched in it."""

    number: int | None
    text: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class LogPage:
    """What is on screen of a log. `total` counts lines, or matches where only they are shown."""

    path: Path
    rows: tuple[LogRow, ...] = ()
    cursor: int = 0  # the row of `rows` that the cursor is on
    first: int | None = None
    total: int | None = None
    size: int = 0
    following: bool = True
    selected: tuple[int, int] | None = None  # first and last line of a range
    search: str = ""  # how far a search is, and what it found
    note: str = ""  # what is wrong with the file, or happened to it


@dataclass
class _Found:
    """A search and what it found so far."""

    pattern: str
    search: "Search | None"
    size: int
    matches: "list[Match]" = field(default_factory=list)
    by_number: dict[int, tuple[int, int]] = field(default_factory=dict)
    jumped: bool = False


class LogReader:
    """Follows one log until it is closed. `do` and `close` only leave a command.

    Commands are the private methods: `do("move", -1)` is `_move(-1)`, in the thread.
    """

    def __init__(self, post: Callable[[LogPage], Any], stopping: threading.Event) -> None:
        self._post, self._stopping = post, stopping
        self._commands: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._closed = False
        self._path = Path()
        self._height = 1
        self._index: LineIndex | None = None
        self._inode: int | None = None
        self._at: int | None = None  # the cursor's line; None follows the end
        self._top = 0
        self._mark: int | None = None  # where a range begins
        self._found: _Found | None = None
        self._only = False
        self._note = ""
        self._growing = False  # whether lines are still to be counted

    def do(self, command: str, *values: Any) -> None:
        """Leave a command."""
        self._commands.put((command, *values))

    def close(self) -> None:
        """End the thread's work; a search's child ends with it."""
        self._closed = True
        self._commands.put(("close",))

    # -- the thread ------------------------------------------------------------------------

    def run(self) -> None:
        """The worker: commands at once, and a look at the file every TICK_S."""
        last: LogPage | None = None
        try:
            while not (self._closed or self._stopping.is_set()):
                self._take_commands()
                page = self._page()
                if page != last:
                    self._post(page)
                    last = page
        finally:
            self._forget_search()
            self._forget_index()

    def _take_commands(self) -> None:
        wait = self._index is None or not self._growing
        try:
            command, *values = self._commands.get(timeout=TICK_S if wait else 0.001)
            while True:
                getattr(self, f"_{command}")(*values)
                command, *values = self._commands.get_nowait()
        except queue.Empty:
            return

    def _close(self) -> None:
        self._closed = True

    def _open(self, path: Path) -> None:
        if path != self._path:
            self._forget_search()
            self._forget_index()
            self._path, self._note = path, ""
            self._at = self._mark = None
            self._only = False

    def _output(self, folder: Path, metrics: bool) -> None:
        """Open a run's or job's output, or its metrics where it has none."""
        from rlhf.runlog import LOG_NAME
        from sessions.paths import OUTPUT_LOG

        output = folder / OUTPUT_LOG
        other = metrics or not output.exists() and (folder / LOG_NAME).exists()
        self._open(folder / LOG_NAME if other else output)

    def _size(self, height: int) -> None:
        self._height = max(1, height)

    def _forget_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index, self._growing = None, False

    def _look(self) -> int:
        """See that the index is of the file as it is now; the file's size. Raises OSError."""
        from sessions.log_pages import LineIndex

        stat = os.stat(self._path)
        if self._index is not None and (
            stat.st_ino != self._inode or stat.st_size < self._index.covered
        ):
            self._note = "replaced" if stat.st_ino != self._inode else "truncated"
            self._note = f"the log was {self._note}: reading it from the top"
            self._forget_index()
        if self._index is None:
            self._index, self._inode, self._growing = LineIndex(self._path), stat.st_ino, True
            return stat.st_size
        self._growing = self._index.grow()
        return stat.st_size

    # -- the page --------------------------------------------------------------------------

    def _page(self) -> LogPage:
        if self._path == Path():
            return LogPage(self._path)
        try:
            size = self._look()
            self._poll_search()
            return self._filtered(size) if self._only and self._found else self._plain(size)
        except OSError as error:
            self._forget_index()
            gone = isinstance(error, FileNotFoundError)
            return LogPage(
                self._path,
                note="nothing written yet" if gone else f"cannot be read: {error.strerror}",
            )

    def _plain(self, size: int) -> LogPage:
        from sessions.log_pages import last_page

        assert self._index is not None
        if self._growing:  # the end of a large file shows before its lines are counted
            lines = last_page(self._path, self._height) if self._at is None else []
            rows = tuple(LogRow(None, line.text) for line in lines)
            note = self._note or f"counting lines: {100 * self._index.covered // max(1, size)} %"
            return LogPage(self._path, rows, max(0, len(rows) - 1), None, None, size, note=note)
        total = self._index.lines
        top, cursor = self._placed(total)
        rows = tuple(
            self._row(n, line) for n, line in enumerate(self._index.page(top, self._height), top)
        )
        if self._at is None:
            rows = self._with_torn(rows)
            cursor = max(0, len(rows) - 1)
        return self._made(rows, cursor, top, total, size)

    def _placed(self, total: int) -> tuple[int, int]:
        """The first line on screen, and the cursor's place below it."""
        if self._at is None:
            self._top = max(0, total - self._height)
            return self._top, 0
        self._at = max(0, min(self._at, total - 1))
        self._top = max(0, min(self._top, self._at, max(0, total - self._height)))
        self._top = max(self._top, self._at - self._height + 1)
        return self._top, self._at - self._top

    def _row(self, number: int, line: "Line") -> LogRow:
        return LogRow(number, line.text, self._found.by_number.get(number) if self._found else None)

    def _with_torn(self, rows: tuple[LogRow, ...]) -> tuple[LogRow, ...]:
        """With the line that has no end yet, such as a progress bar."""
        from sessions.log_pages import torn_line

        torn = torn_line(self._path)
        if torn is None:
            return rows
        return (*rows, LogRow(None, torn.text))[-self._height :]

    def _filtered(self, size: int) -> LogPage:
        assert self._found is not None
        matches = self._found.matches
        top, cursor = self._placed(len(matches))
        shown = matches[top : top + self._height]
        rows = tuple(LogRow(m.number, m.text, m.span) for m in shown)
        if self._at is None:
            cursor = max(0, len(rows) - 1)
        return self._made(rows, cursor, top, len(matches), size)

    def _made(
        self, rows: tuple[LogRow, ...], cursor: int, top: int, total: int, size: int
    ) -> LogPage:
        selected = None
        if self._mark is not None:
            here = top + cursor
            selected = (min(self._mark, here), max(self._mark, here))
        return LogPage(
            self._path, rows, cursor, top, total, size, self._at is None, selected,
            self._search_text(), self._note,
        )  # fmt: skip

    # -- commands --------------------------------------------------------------------------

    @property
    def _total(self) -> int:
        if self._only and self._found:
            return len(self._found.matches)
        return self._index.lines if self._index is not None else 0

    def _move(self, by: int) -> None:
        total = self._total
        here = total - 1 if self._at is None else self._at
        self._note = ""
        if self._at is None and by >= 0:
            return
        self._at = max(0, min(here + by, total - 1))
        if abs(by) > 1:
            self._top += by

    def _home(self) -> None:
        self._at = 0

    def _end(self) -> None:
        self._at = self._mark = None

    def _go(self, number: int) -> None:
        """Put a line in the middle."""
        self._at = number
        self._top = max(0, number - self._height // 2)

    def _range(self) -> None:
        """Begin a range at the cursor, or forget it."""
        here = self._total - 1 if self._at is None else self._at
        self._mark = here if self._mark is None else None
        self._at = here

    def _copy(self, post: Callable[[str, int], Any]) -> None:
        here = max(0, self._total - 1 if self._at is None else self._at)
        first, last = here, here
        if self._mark is not None:
            first, last = min(self._mark, here), max(self._mark, here)
        texts: list[str] = []
        length = 0
        for text in self._texts(first, last):
            length += len(text) + 1
            if length > MOST_COPIED and texts:
                break
            texts.append(text[:MOST_COPIED])
        self._mark = None
        post("\n".join(texts), last - first + 1 - len(texts))

    def _texts(self, first: int, last: int) -> list[str]:
        last = min(last, first + MOST_COPIED)
        if self._only and self._found:
            return [match.text for match in self._found.matches[first : last + 1]]
        lines = self._index.page(first, last - first + 1) if self._index is not None else []
        return [line.text for line in lines]

    # -- searching -------------------------------------------------------------------------

    def _search(self, pattern: str, only: bool) -> None:
        """Search in a child; the first match from the cursor on is gone to."""
        from sessions.errors import SessionError
        from sessions.log_search import Search

        self._forget_search()
        try:
            size = os.path.getsize(self._path)
            search = Search(self._path, pattern, follow=only)
        except (SessionError, OSError) as error:
            self._note = str(error)
            return
        self._found, self._only = _Found(pattern, search, size), only
        if only:
            self._at = self._mark = None

    def _errors(self, pattern: str) -> None:
        """The first error; asked again, the next one."""
        if self._found is not None and self._found.pattern == pattern:
            self._next(1)
        else:
            self._at = 0
            self._search(pattern, False)

    def _write(self, path: Path, said: Callable[[str], Any]) -> None:
        """Write the matching lines, or else the whole file, to a new file."""
        try:
            with open(path, "x", encoding="utf-8", errors="backslashreplace") as file:
                if self._found is not None:
                    file.writelines(match.text + "\n" for match in self._found.matches)
                else:
                    with open(self._path, encoding="utf-8", errors="replace") as source:
                        shutil.copyfileobj(source, file)
            said(f"written: {path}")
        except OSError as error:
            said(f"not written: {path}: {error.strerror}")

    def _forget(self) -> None:
        """Leave the search; the cursor stays on the line that it is on."""
        if self._only and self._found and self._found.matches:
            place = len(self._found.matches) - 1 if self._at is None else self._at
            number = self._found.matches[max(0, min(place, len(self._found.matches) - 1))].number
            self._forget_search()
            if self._at is not None:
                self._go(number)
        self._forget_search()

    def _forget_search(self) -> None:
        if self._found is not None and self._found.search is not None:
            self._found.search.cancel()
        self._found, self._only = None, False

    def _cancel(self) -> None:
        """End a search that still runs, with what it found."""
        if self._found is not None and self._found.search is not None:
            self._found.search.cancel()
            self._found.search = None

    def _poll_search(self) -> None:
        found = self._found
        if found is None or found.search is None:
            return
        for match in found.search.poll():
            found.matches.append(match)
            found.by_number[match.number] = match.span
        if len(found.matches) > MOST_MATCHES:
            dropped, found.matches = found.matches[:-MOST_MATCHES], found.matches[-MOST_MATCHES:]
            for match in dropped:
                del found.by_number[match.number]
        if found.search.finished:
            found.search.cancel()
            found.search = None
        if found.matches and not found.jumped and not self._only:
            found.jumped = True
            self._next(1, include=True)

    def _next(self, by: int, include: bool = False) -> None:
        """Go to the next match, or the one before, around the end."""
        if self._found is None or not self._found.matches:
            return
        numbers = [match.number for match in self._found.matches]
        if self._only:
            self._move(by)
            return
        here = -1 if self._at is None else self._at
        if by > 0:
            following = [n for n in numbers if n > here or (include and n == here)]
            self._go(following[0] if following else numbers[0])
        else:
            before = [n for n in numbers if n < here]
            self._go(before[-1] if before else numbers[-1])

    def _search_text(self) -> str:
        found = self._found
        if found is None:
            return ""
        count = len(found.matches)
        told = f"{count} match{'' if count == 1 else 'es'} of {found.pattern}"
        if found.search is None or (self._only and found.search.scanned >= found.size):
            return told
        return (
            f"{told}, {100 * found.search.scanned // max(1, found.size)} % searched (esc ends it)"
        )
