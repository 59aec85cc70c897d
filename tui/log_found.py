"""A search of a log, or a filter: what its child has found, and where that leads. No Textual."""

from bisect import bisect_left, bisect_right
from operator import attrgetter
from pathlib import Path

from sessions.errors import SessionError
from sessions.log_search import Match, Search

MOST_MATCHES = 10_000  # the newest of a filter that are kept


class Found:
    """The matches of one pattern, as its child finds them. `only`: nothing else is shown."""

    def __init__(self) -> None:
        self._search: Search | None = None
        self._wanted: tuple[str, bool] | None = None  # a pattern, and whether only it is shown
        self.matches: list[Match] = []
        self.count = 0
        self.only = False

    @property
    def searching(self) -> bool:
        """Whether the child still looks at what was there; a filter then waits for more."""
        search = self._search
        return search is not None and not search.finished and not (self.only and search.whole)

    @property
    def failed(self) -> bool:
        """Whether the child ended before its time."""
        return self._search is not None and self._search.failed

    def begin(self, path: Path, rows: bool, pattern: str, only: bool) -> str:
        """Start anew; why that cannot be, or nothing. `rows`: of log.jsonl, as they read."""
        self.end()
        try:
            self._search = Search(path, pattern, follow=only, newest=only, rows=rows, torn=True)
            self._wanted, self.only = (pattern, only), only
        except (OSError, SessionError) as error:
            return str(error)
        return ""

    def again(self, path: Path, rows: bool) -> None:
        """Look for the same in a file that is another one now; what was found in the old goes."""
        if self._wanted is not None:
            self.begin(path, rows, *self._wanted)

    def end(self) -> None:
        """End the child, whatever it is doing; its matches go."""
        if self._search is not None:
            self._search.cancel()
        self._search, self._wanted = None, None
        self.matches, self.only, self.count = [], False, 0

    def gather(self) -> None:
        """Take what was found since the last call."""
        if self._search is not None and not self._search.finished:
            before, found = self._search.restarts, self._search.poll()
            if self._search.restarts != before:
                self.matches, self.count = [], 0
            if found:  # of a filter the newest come first; a line without end may come again
                known = {match.offset: match for match in self.matches}
                self.count += len({match.offset for match in found} - known.keys())
                known |= {match.offset: match for match in found}
                found = sorted(known.values(), key=attrgetter("offset"))
                self.matches = found[-MOST_MATCHES:]

    def jump(self, by: int, top: int | None) -> int | None:
        """The place of the match that `by` leads to from `top` (None: the log's end).

        0 is the first match, 1 the next, -1 the one before; None where there is none.
        """
        offsets = [match.offset for match in self.matches]
        here = top or 0
        if by > 0:
            place = bisect_right(offsets, here) if top is not None else len(offsets)
        else:
            place = 0 if by == 0 else bisect_left(offsets, here) - 1
        return offsets[place] if 0 <= place < len(offsets) else None

    def window(self, top: int | None, moves: int, height: int) -> tuple[list[Match], bool]:
        """The matches from byte `top` on (None: the last), moved; whether none follows them."""
        offsets = [match.offset for match in self.matches]
        last = max(0, len(offsets) - height)
        place = (last if top is None else bisect_left(offsets, top)) + moves
        place = max(0, min(place, last))
        ends = not offsets or (place >= last and (moves > 0 or top is None))
        return self.matches[place : place + height], ends
