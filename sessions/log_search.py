"""Searching a log by regular expression in a child that can be killed.

A pattern can take for ever on one line; here that costs a child's time, never the caller's.
"""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError
from .log_follow import Follower
from .log_pages import Line, pages_back, torn_line, whole_end
from .log_text import row_text
from .supervise import python_environment

LIMIT = 10_000  # matches after which a search ends
POLL_S = 0.1
LOOK_S = 1.0  # between looks whether the parent lives
QUIET_S = 1.0  # after which a line without end is taken for one that gets none
POLL_BYTES = 1 << 18  # taken from the child by one poll: the pipe holds back one that finds more


@dataclass(frozen=True)
class Match:
    """A line that matched: its number (0 is the first), offset, text, and the first match.

    The number is None where a search began at the end of the log.
    """

    number: int | None
    offset: int
    text: str
    span: tuple[int, int]


def checked(pattern: str) -> str:
    """`pattern`, if it is a regular expression. Raises UsageError."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{pattern!r:.80} is not a regular expression: {error}") from error
    return pattern


class Search:
    """One search in progress. `poll` never blocks; `cancel` ends it, whatever it is doing.

    With `newest` it goes back from the log's end, page by page, and takes what comes meanwhile.
    With `rows` the lines are rows of log.jsonl, and searched as they read. With `torn` a last
    line without end is a line too; followed, once nothing was added to it for a second.
    """

    def __init__(
        self,
        path: Path,
        pattern: str,
        invert: bool = False,
        follow: bool = False,
        newest: bool = False,
        rows: bool = False,
        torn: bool = False,
    ) -> None:
        how = {"invert": invert, "follow": follow, "newest": newest, "rows": rows, "torn": torn}
        words = [sys.executable, "-P", "-m", "sessions", "search"]
        words += [f"--{name}" for name, wanted in how.items() if wanted]
        words += ["--", str(path), checked(pattern)]  # a pattern may begin with a dash
        self._child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=python_environment(),
            bufsize=0,
            start_new_session=True,
        )
        assert self._child.stdout is not None
        self._out = self._child.stdout
        os.set_blocking(self._out.fileno(), False)
        self._torn = b""
        self.whole = False  # whether all that was there has been looked at
        self.restarts = 0  # how often the file turned out to be another one
        self.finished = False

    @property
    def failed(self) -> bool:
        """Whether its child ended before its time: there may be more than was found."""
        return self.finished and self._child.returncode != 0

    def poll(self) -> list[Match]:
        """The matches found since the last call."""
        ended = self._child.poll() is not None
        data = self._drain()
        *whole, self._torn = (self._torn + data).split(b"\n")
        found: list[Match] = []
        for line in whole:
            value: dict[str, Any] = json.loads(line)
            self.whole = value.pop("whole", self.whole)
            if value.pop("restarted", None):  # it is another file: what was found is not in it
                found, self.restarts = [], self.restarts + 1
            if value:
                found.append(Match(**{**value, "span": tuple(value["span"])}))
        self.finished = ended and len(data) < POLL_BYTES
        return found

    def _drain(self) -> bytes:
        data = b""
        while len(data) < POLL_BYTES and not self._out.closed:
            piece = self._out.read(POLL_BYTES - len(data))
            if not piece:
                break
            data += piece
        return data

    def cancel(self) -> None:
        """End the child at once."""
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        self._out.close()
        self.finished = True


def run_search(
    path: Path, pattern: str, invert: bool, follow: bool, newest: bool, rows: bool, torn: bool
) -> None:
    """The child's part: print matches as JSON lines; end with the file, or with the parent."""
    _end_with(os.getppid())
    end = whole_end(path) if newest else 0
    most = None if follow else LIMIT
    tell = _Teller(re.compile(pattern), invert, row_text if rows else str, most)
    tail = _Tail(path) if torn else None
    back, follower, number = pages_back(path, end), Follower(path, end), 0
    if tail and newest and not follow:
        tell.matches(tail.settled(0), None)
    while True:
        update = follower.poll()
        if update.restarted:
            print(json.dumps({"restarted": update.restarted}))
            number, back = 0, pages_back(path, 0)
        tell.matches(update.lines, None if newest else number)
        number += len(update.lines)
        before = _earlier(back) if tell.found < LIMIT else []
        tell.matches(before[::-1], None)
        if not update.more and not before:
            if tail:
                tell.matches(tail.settled(QUIET_S * follow), None if newest else number)
            print(json.dumps({"whole": True}), flush=True)
            if not follow:
                return
            time.sleep(POLL_S)
        if tell.found == most:
            return


def _earlier(back: Iterator[list[Line]]) -> list[Line]:
    """The page before; none if the log is gone meanwhile: the follower tells of that."""
    try:
        return next(back, [])
    except OSError:
        return []


class _Tail:
    """The last line of a log while it has no end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Line | None = None
        self._since = 0.0
        self._told: Line | None = None

    def settled(self, seconds: float) -> list[Line]:
        """The line, once: if there is one, and it has been the same for so long."""
        try:
            line = torn_line(self._path)
        except OSError:
            line = None
        if line != self._seen:
            self._seen, self._since = line, time.monotonic()
        if line is None or line == self._told or time.monotonic() - self._since < seconds:
            return []
        self._told = line
        return [line]


class _Teller:
    """Prints the lines that match, up to `most`, and counts them."""

    def __init__(
        self, regex: "re.Pattern[str]", invert: bool, read: Callable[[str], str], most: int | None
    ) -> None:
        self._regex, self._invert, self._read, self._most = regex, invert, read, most
        self.found = 0

    def matches(self, lines: Sequence[Line], number: int | None) -> None:
        """Those of these lines; `number` is that of the first."""
        for place, line in enumerate(lines):
            if self.found == self._most:
                break
            text = self._read(line.text)
            hit = self._regex.search(text)
            if (hit is None) == self._invert:
                at = None if number is None else number + place
                match = Match(at, line.offset, text, hit.span() if hit else (0, 0))
                print(json.dumps(vars(match)))
                self.found += 1
        sys.stdout.flush()


def _end_with(parent: int) -> None:
    """End when the parent is gone, even in the middle of a match: `re` lets signals in."""

    def look(number: int, frame: Any) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # an interpreter that ends dies of it
