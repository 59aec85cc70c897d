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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError
from .log_follow import Follower
from .supervise import python_environment

LIMIT = 10_000  # matches after which a search ends
POLL_S = 0.1
POLL_BYTES = 1 << 18  # taken from the child by one poll: the pipe holds back one that finds more


@dataclass(frozen=True)
class Match:
    """A line that matched: its number (0 is the first), offset, text, and the first match."""

    number: int
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
    """One search in progress. `poll` never blocks; `cancel` ends it, whatever it is doing."""

    def __init__(
        self, path: Path, pattern: str, invert: bool = False, follow: bool = False
    ) -> None:
        words = [sys.executable, "-P", "-m", "sessions", "search", str(path), checked(pattern)]
        words += ["--invert"] * invert + ["--follow"] * follow
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
        self.scanned = 0  # bytes looked at so far
        self.finished = False

    def poll(self) -> list[Match]:
        """The matches found since the last call."""
        ended = self._child.poll() is not None
        data = self._drain()
        *whole, self._torn = (self._torn + data).split(b"\n")
        found = []
        for line in whole:
            value: dict[str, Any] = json.loads(line)
            self.scanned = value.pop("scanned", self.scanned)
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


def run_search(path: Path, pattern: str, invert: bool, follow: bool, limit: int = LIMIT) -> None:
    """The child's part: print matches as JSON lines; end with the file, or with the parent."""
    _end_with(os.getppid())
    regex, follower, number, found = re.compile(pattern), Follower(path), 0, 0
    while True:
        update = follower.poll()
        if update.restarted:
            number = 0
        for line in update.lines:
            hit = regex.search(line.text)
            if (hit is None) == invert:
                span = hit.span() if hit else (0, 0)
                _print(Match(number, line.offset, line.text, span))
                found += 1
            number += 1
            if found >= limit and not follow:
                return
        print(json.dumps({"scanned": follower.offset}), flush=True)
        if not update.more:
            if not follow:
                return
            time.sleep(POLL_S)


def _print(match: Match) -> None:
    print(json.dumps(vars(match)))


def _end_with(parent: int) -> None:
    """End when the parent is gone, even in the middle of a match: `re` lets signals in."""

    def look(number: int, frame: Any) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
