"""Searching a log by regular expression in a child that can be killed.

A pattern can take for ever on one line; here that costs a child's time, never the caller's.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError
from .log_follow import Follower
from .log_pages import Line, pages_back, whole_end
from .log_text import row_text
from .supervise import python_environment

LIMIT = 10_000  # matches after which a search ends
POLL_S = 0.1
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
    With `rows` the lines are rows of log.jsonl, and searched as they read.
    """

    def __init__(
        self,
        path: Path,
        pattern: str,
        invert: bool = False,
        follow: bool = False,
        newest: bool = False,
        rows: bool = False,
    ) -> None:
        words = [sys.executable, "-P", "-m", "sessions", "search", str(path), checked(pattern)]
        words += (
            ["--invert"] * invert
            + ["--follow"] * follow
            + ["--newest"] * newest
            + ["--rows"] * rows
        )
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
        found = []
        for line in whole:
            value: dict[str, Any] = json.loads(line)
            self.whole = value.pop("whole", self.whole)
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
    path: Path, pattern: str, invert: bool, follow: bool, newest: bool, rows: bool
) -> None:
    """The child's part: print matches as JSON lines; end with the file, or with the parent."""
    _end_with(os.getppid())
    end = whole_end(path) if newest else 0
    most = None if follow else LIMIT
    tell = _Teller(re.compile(pattern), invert, row_text if rows else str, most)
    back, follower, number = pages_back(path, end), Follower(path, end), 0
    while True:
        update = follower.poll()
        if update.restarted:
            number, back = 0, pages_back(path, 0)
        tell.matches(update.lines, None if newest else number)
        number += len(update.lines)
        before = next(back, []) if tell.found < LIMIT else []
        tell.matches(before[::-1], None)
        if not update.more and not before:
            print(json.dumps({"whole": True}), flush=True)
            if not follow:
                return
            time.sleep(POLL_S)
        if tell.found == most:
            return


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
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
