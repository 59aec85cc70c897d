"""Pages of a log around a place in it, read in a worker. No Textual here.

A place is the byte offset of a line's start, so any part of a log of any size is read at once;
line numbers come when the index has grown there. Searching is a child's work (sessions).
"""

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sessions.log_pages import Line, LineIndex
from sessions.log_text import row_text

from .log_found import Found
from .log_page import Page
from .log_places import BLOCK, at_end, first_written, lines_at

TICK_S = 0.12  # between looks at a log that may grow: under ten paints a second
UNWRITTEN = "nothing written yet"
FAILED = "the search failed: there may be more matches"
SLICE_BYTES = 1 << 25  # of the index's growth between two looks


class LogReader:
    """Keeps a page up to date. Its methods are for the event loop and never block; `run` reads."""

    def __init__(self, post: Callable[[Page], None], stop: threading.Event) -> None:
        self._post, self._stop = post, stop
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._top: int | None = None  # None follows the end
        self._moves, self._height = 0, 20
        self._index: LineIndex | None = None
        self._matched = Found()
        self._jump: int | None = None  # matches still to go on by, when they are found
        self._mark: tuple[int, int, int] = (0, 0, 0)  # device, inode, size
        self._notice = ""
        self._rows = False  # of log.jsonl, shown as they read
        self._asked: tuple[Path, ...] | None = None
        self._pattern: tuple[str, bool] | None = None
        self._cancel = False
        self._posted: Page | None = None
        self.closed = False

    # -- for the event loop ------------------------------------------------------------------

    def open(self, *paths: Path) -> None:
        """Show the first of these files that holds anything, from its end.

        The first is the output; any other holds rows of metrics, shown as they read.
        """
        with self._lock:
            self._asked, self._cancel, self._top, self._moves = paths, True, None, 0
        self._wake.set()

    def move(self, by: int) -> None:
        """Scroll by lines."""
        with self._lock:
            self._moves += by
        self._wake.set()

    def go_to(self, offset: int | None) -> None:
        """Show from this byte on; None goes to the end and follows."""
        with self._lock:
            self._top, self._moves = offset, 0
        self._wake.set()

    def resize(self, height: int) -> None:
        """So many lines are on screen."""
        self._height = max(1, height)
        self._wake.set()

    def search(self, pattern: str, only: bool) -> None:
        """Look for a regular expression; `only` shows nothing else. For checked patterns."""
        with self._lock:
            self._pattern, self._jump = (pattern, only), None if only else 0
            self._top = None if only else self._top
        self._wake.set()

    def next_match(self, by: int) -> None:
        """Go on to the next match, or back."""
        self._jump = by
        self._wake.set()

    def cancel(self) -> None:
        """End the search, whatever it is doing; its matches and a filter go."""
        self._cancel = True
        self._wake.set()

    def close(self) -> None:
        """End the worker."""
        self.closed = True
        self._wake.set()

    # -- the worker --------------------------------------------------------------------------

    def run(self) -> None:
        """Read until it is closed; ends the search's child however that comes."""
        try:
            while not self._stop.is_set() and not self.closed:
                self._wake.clear()
                self._obey()
                page = replace(self._page(), path=self._path)
                if page != self._posted:
                    self._posted = page
                    self._post(page)
                self._wait()
        finally:
            self._matched.end()
            self._drop_index()

    def _wait(self) -> None:
        began = time.monotonic()
        if not self._wake.wait(TICK_S):
            return
        if self._top is None and self._moves == 0:
            self._stop.wait(max(0.0, 0.02 - (time.monotonic() - began)))

    def _obey(self) -> None:
        with self._lock:
            asked, self._asked = self._asked, None
            cancel, self._cancel = self._cancel, False
            pattern, self._pattern = self._pattern, None
        if cancel:
            self._matched.end()
            self._notice = ""
        if asked is not None:
            self._path = first_written(asked)
            self._rows = self._path != asked[0]
            self._posted = None  # whoever asked waits for a page, be it the same as before
            self._drop_index()
        if pattern is not None and self._path is not None:
            self._notice = self._matched.begin(self._path, self._rows, *pattern)

    def _drop_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index, self._mark = None, (0, 0, 0)

    def _page(self) -> Page:
        """The page as it is now, or why there is none."""
        if self._path is None:
            return Page(said="no log is open")
        try:
            size = self._look()
            self._matched.gather()
            if self._matched.failed:
                self._notice, self._jump = FAILED, None
            if size == 0:
                return Page(said=UNWRITTEN, following=True)
            return self._filtered(size) if self._matched.only else self._plain(size)
        except FileNotFoundError:
            gone = self._mark != (0, 0, 0)
            return Page(said="the file is gone" if gone else UNWRITTEN)
        except OSError as error:
            return Page(said=f"cannot be read: {error.strerror or error}")

    def _look(self) -> int:
        """The file's size; begins anew with a file that was replaced. Raises OSError."""
        assert self._path is not None
        found = os.stat(self._path)
        if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
            raise OSError(errno.EINVAL, "it is no file")
        before, now = self._mark, (found.st_dev, found.st_ino, found.st_size)
        if before != (0, 0, 0) and (before[:2] != now[:2] or now[2] < before[2]):
            self._notice = "the log was " + ("truncated" if before[:2] == now[:2] else "replaced")
            self._drop_index()
            self._matched.again(self._path, self._rows)
            self._top = None
        self._mark = now
        if self._index is None:
            self._index = LineIndex(self._path)
        self._index.grow(SLICE_BYTES)
        return found.st_size

    def _jumped(self) -> None:
        """Go to the match that was asked for, as soon as it is found."""
        if self._jump is None or (self._matched.searching and not self._matched.matches):
            return
        place = self._matched.jump(self._jump, self._top)
        if place is not None:
            self._top = place
        elif self._matched.searching and self._jump > 0:
            return
        else:
            self._notice = "no further match" if self._matched.matches else "no line matches"
        self._jump = None

    def _plain(self, size: int) -> Page:
        assert self._path is not None
        with self._lock:
            self._jumped()
            moves, self._moves = self._moves, 0
            top = self._top
        lines = lines_at(self._path, top, moves, self._height)
        if self._rows:
            lines = [Line(line.offset, row_text(line.text)) for line in lines]
        with self._lock:
            if self._asked is None and self._top == top:
                self._top = self._kept(lines, moves, size)
        return self._made(lines, size)

    def _kept(self, lines: Sequence[Line], moves: int, size: int) -> int | None:
        """Where the view stands now; it follows again when it is scrolled to the end."""
        if self._top is None and moves >= 0:
            return None
        assert self._path is not None
        if moves > 0 and len(lines) <= self._height and at_end(self._path, lines):
            return None
        return lines[0].offset if lines else self._top

    def _made(self, lines: Sequence[Line], size: int) -> Page:
        index = self._index
        first = None
        if index is not None and lines and lines[0].offset <= index.covered + BLOCK:
            first = index.number_of(lines[0].offset) + 1
        spans = {match.offset: match.span for match in self._matched.matches}
        shown = {line.offset: spans[line.offset] for line in lines if line.offset in spans}
        return Page(
            lines,
            size,
            first,
            index.lines if index is not None else 0,
            self._top is None,
            self._notice,
            shown,
            self._matched.count,
            self._matched.searching,
            self._matched.only,
            self._rows,
        )

    def _filtered(self, size: int) -> Page:
        """The matching lines only."""
        with self._lock:
            moves, self._moves, top = self._moves, 0, self._top
            matches, ends = self._matched.window(top, moves, self._height)
            self._top = None if ends else matches[0].offset
        return self._made([Line(match.offset, match.text) for match in matches], size)

    def filtered_text(self) -> str:
        """The whole filtered result, one line a match."""
        return "".join(f"{match.text}\n" for match in self._matched.matches)
