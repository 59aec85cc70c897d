"""What `logs` prints: the last lines, those that match, and those still to come."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import LOG_NAME
from sessions.evidence import state_of
from sessions.log_follow import Follower
from sessions.log_pages import LineIndex, last_page, torn_line, whole_end
from sessions.log_search import Search
from sessions.log_text import ERRORS, row_text
from sessions.paths import OUTPUT_LOG
from sessions.states import LIVE

from .acting import emit, narrate
from .exits import CommandError, Exit

POLL_S = 0.1
CARE_S = 1.0  # between looks whether the run still lives
LAST_S = 2.0  # after a run has ended: what its log still shows is found in this time


@dataclass(frozen=True)
class LogQuery:
    """What is wanted of a log."""

    lines: int
    first: int | None = None  # the number of the first line to show; None shows the last ones
    follow: bool = False
    grep: str | None = None
    invert: bool = False
    errors: bool = False
    metrics: bool = False
    as_json: bool = False

    @property
    def pattern(self) -> str | None:
        return ERRORS if self.errors else self.grep


def show_log(folder: Path, query: LogQuery) -> None:
    """Print what the query asks for. Raises CommandError."""
    path = _path(folder, query)
    if query.first is not None and (query.follow or query.pattern is not None):
        raise CommandError(Exit.USAGE, "--from shows a page: it neither follows nor searches")
    if query.as_json and query.follow:
        raise CommandError(Exit.USAGE, "--json is one document: it cannot follow")
    read = path.name == LOG_NAME and not query.metrics and not query.as_json
    if query.pattern is not None:
        lines = _matching(path, folder, query, read)
    else:
        lines = _plain(path, folder, query) if query.first is None else _from(path, query)
        lines = ((at, row_text(text)) for at, text in lines) if read else lines
    if query.as_json:
        rows = [{"offset": offset, "text": text} for offset, text in lines]
        emit(True, {"run": folder.name, "path": str(path), "lines": rows}, ())
        return
    shown = False
    for _, text in lines:
        shown = True
        print(text, flush=query.follow)
    if not shown and query.lines:
        what = "no line matches" if query.pattern is not None else "there is no such line"
        narrate(f"{what} in {path.name}")


def _path(folder: Path, query: LogQuery) -> Path:
    """The file to show: output.log, or the metrics where there is no output."""
    metrics, output = folder / LOG_NAME, folder / OUTPUT_LOG
    if not query.metrics and (query.follow or _holds(output)):
        return output
    if not query.metrics and output.is_file() and not _holds(metrics):
        return output
    if not metrics.is_file() and not query.follow:
        raise CommandError(Exit.NO, f"{folder.name} has written nothing yet", metrics)
    if not query.metrics:
        narrate(f"{folder.name} wrote no output: these are the rows of {LOG_NAME}")
    return metrics


def _holds(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _plain(path: Path, folder: Path, query: LogQuery) -> Iterator[tuple[int, str]]:
    end = whole_end(path)
    for line in last_page(path, query.lines, end) if end else []:
        yield line.offset, line.text
    if query.follow:
        yield from _following(path, folder, end)
    elif query.lines and path.exists() and state_of(folder).state not in LIVE:
        torn = torn_line(path)
        if torn is not None:
            yield torn.offset, torn.text


def _from(path: Path, query: LogQuery) -> Iterator[tuple[int, str]]:
    """A page that begins at a numbered line."""
    assert query.first is not None
    index = LineIndex(path)
    try:
        while index.lines < query.first + query.lines and index.grow():
            pass
        for line in index.page(query.first - 1, query.lines):
            yield line.offset, line.text
    finally:
        index.close()


def _following(path: Path, folder: Path, offset: int) -> Iterator[tuple[int, str]]:
    """Whole lines from `offset` as they come, until the run has ended and nothing is left."""
    follower, cared, alive = Follower(path, offset), 0.0, True
    while True:
        update = follower.poll()
        if update.restarted:
            narrate(f"the log was {update.restarted}: reading it from the top")
        for line in update.lines:
            yield line.offset, line.text
        if not update.lines and not alive:
            return
        if time.monotonic() - cared > CARE_S:
            alive, cared = state_of(folder).state in LIVE, time.monotonic()
        time.sleep(0 if update.more else POLL_S)


def _matching(path: Path, folder: Path, query: LogQuery, rows: bool) -> Iterator[tuple[int, str]]:
    """The last lines that match or, following, all and those that come; searched in a child."""
    assert query.pattern is not None
    torn = state_of(folder).state not in LIVE
    newest = not query.follow
    search = Search(path, query.pattern, query.invert, query.follow, newest, rows, torn)
    try:
        yield from _all_of(search, folder) if query.follow else _last_of(search, query.lines)
        if search.failed:
            raise CommandError(Exit.UNABLE, "the search of the log failed", path)
    finally:
        search.cancel()


def _last_of(search: Search, count: int) -> list[tuple[int, str]]:
    """The last `count` matches, of a search that finds the newest first."""
    found: list[tuple[int, str]] = []
    while not search.finished and len(found) < count:
        found += [(match.offset, match.text) for match in search.poll()]
        time.sleep(POLL_S / 10)
    return sorted(found)[-count:] if count else []


def _all_of(search: Search, folder: Path) -> Iterator[tuple[int, str]]:
    """Matches as they come, until the run has ended and a search that is through finds no more."""
    live, cared, quiet = True, 0.0, 0.0  # looked at when; since when nothing is to come
    while not search.finished:
        found = search.poll()
        yield from ((match.offset, match.text) for match in found)
        now = time.monotonic()
        if now - cared > CARE_S:
            live, cared = state_of(folder).state in LIVE, now
        if live or found or not search.whole:
            quiet = now
        if now - quiet > LAST_S:
            return
        time.sleep(POLL_S / 2)
