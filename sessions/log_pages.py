"""Pages of a log of any size: the last one at once, any other once the index has grown there."""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from .log_text import LONGEST_BYTES, line_text

BLOCK = 1 << 16
PAGE_LINES = 2000  # of one page that is searched
PAGE_BYTES = 1 << 22  # of one page: what a person can look at, however long its lines


@dataclass(frozen=True)
class Line:
    """One whole line: where it begins, in bytes, and what it says."""

    offset: int
    text: str


def lines_of(data: bytes, offset: int) -> Iterator[Line]:
    """The whole lines in `data`, which begins at a line's start, at `offset`."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield Line(offset + start, line_text(data[start:end]))
        start = end + 1


def last_page(path: Path, count: int, end: int | None = None) -> list[Line]:
    """The last `count` whole lines, fewer if they are very long. Raises OSError.

    With `end` those of the first `end` bytes, so that whoever follows from there misses none.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        end = size if end is None else min(end, size)
        data, start = b"", end
        while start > 0 and data.count(b"\n") <= count and len(data) < PAGE_BYTES:
            size = min(max(BLOCK, len(data)), start)  # doubled: a page of one line is cheap too
            start -= size
            file.seek(start)
            data = file.read(size) + data
    if start:  # what precedes the first newline is the end of a line we do not have
        cut = data.find(b"\n") + 1
        data, start = data[cut:], start + cut
    return list(lines_of(data, start))[-count:] if count else []


def pages_back(path: Path, end: int) -> Iterator[list[Line]]:
    """The lines before byte `end`, a page at a time, from the last page on. Raises OSError."""
    while end > 0:
        lines = last_page(path, PAGE_LINES, end) or [_long_before(path, end)]
        yield lines
        end = lines[0].offset


def _long_before(path: Path, end: int) -> Line:
    """A line longer than a page, that ends before byte `end`."""
    with open(path, "rb") as file:
        return _line_between(file, _line_start(file, end - 1), end - 1)


def _line_start(file: BinaryIO, end: int) -> int:
    """Where the line that goes up to byte `end` begins, looked for backwards in blocks."""
    size, found = BLOCK, -1
    while end > 0 and found < 0:
        size = min(2 * size, PAGE_BYTES, end)
        end -= size
        file.seek(end)
        found = file.read(size).rfind(b"\n")
    return end + found + 1


def _line_between(file: BinaryIO, start: int, end: int) -> Line:
    """A line of any length: its head, or the last state of a progress bar."""
    tail_at = max(start, end - LONGEST_BYTES)
    tail = os.pread(file.fileno(), end - tail_at, tail_at)
    if tail_at > start and b"\r" not in tail:
        tail = os.pread(file.fileno(), LONGEST_BYTES + 1, start)
    return Line(start, line_text(tail))


@lru_cache(maxsize=8)
def _last_start(path: Path, size: int, *_stamp: int) -> int:
    """Where a file's last line begins; looked for once while the file is the same."""
    with open(path, "rb") as file:
        return _line_start(file, size)


def _torn_at(path: Path) -> tuple[int, int]:
    """Where the first line that is not whole yet begins, and how far it goes. Raises OSError."""
    found = path.stat()
    start = _last_start(path, found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev)
    return start, found.st_size


def whole_end(path: Path) -> int:
    """Where the first line that is not whole yet begins; 0 if the file cannot be read."""
    try:
        return _torn_at(path)[0]
    except OSError:
        return 0


def torn_line(path: Path) -> Line | None:
    """The last line if it has no end, for a log that nobody writes to any more; else None."""
    start, end = _torn_at(path)
    if start == end:
        return None
    with open(path, "rb") as file:
        return _line_between(file, start, end)


class LineIndex:
    """How many lines end in each block of a file; grown a little at a time, from the start."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - lives as long as the index
        self._ends = array("Q")  # lines that end before the end of block i

    def close(self) -> None:
        self._file.close()

    @property
    def covered(self) -> int:
        """Bytes indexed: always whole blocks."""
        return len(self._ends) * BLOCK

    @property
    def lines(self) -> int:
        """Lines known to end: in what is covered, and in the little that follows it."""
        return self._before(len(self._ends)) + self._block(len(self._ends)).count(b"\n")

    def grow(self, most_bytes: int = 1 << 26) -> bool:
        """Index the next bytes; False when only a part of a block is left. Raises OSError."""
        size = os.fstat(self._file.fileno()).st_size
        stop = min(size, self.covered + most_bytes) // BLOCK * BLOCK
        while self.covered < stop:
            data = os.pread(self._file.fileno(), min(stop - self.covered, 1 << 22), self.covered)
            for start in range(0, len(data) // BLOCK * BLOCK, BLOCK):
                before = self._before(len(self._ends))
                self._ends.append(before + data.count(b"\n", start, start + BLOCK))
            if len(data) < BLOCK:  # truncated meanwhile
                return False
        return size - self.covered >= BLOCK

    def _before(self, block: int) -> int:
        """Lines that end before a block."""
        return self._ends[block - 1] if block else 0

    def _block(self, block: int) -> bytes:
        """The bytes of a covered block, or what follows the last."""
        size = BLOCK if block < len(self._ends) else PAGE_BYTES
        return os.pread(self._file.fileno(), size, block * BLOCK)

    def offset_of(self, number: int) -> int | None:
        """Where line `number` (0 is the first) begins, or None if that is not known yet."""
        if number <= 0:
            return 0
        block = bisect_left(self._ends, number)
        data, position = self._block(block), -1
        for _ in range(number - self._before(block)):
            position = data.find(b"\n", position + 1)
            if position < 0:
                return None
        return block * BLOCK + position + 1

    def number_of(self, offset: int) -> int:
        """The number of the line that holds byte `offset` of what is covered."""
        block = min(offset // BLOCK, len(self._ends))
        return self._before(block) + self._block(block).count(b"\n", 0, offset - block * BLOCK)

    def page(self, first: int, count: int) -> list[Line]:
        """Lines first, first + 1, ... as far as they are known."""
        count = min(count, self.lines - first)
        start, end = self.offset_of(first), self.offset_of(first + count)
        if count <= 0 or start is None or end is None:
            return []
        if end - start <= PAGE_BYTES:
            return list(lines_of(os.pread(self._file.fileno(), end - start, start), start))
        return [line for n in range(first, first + count) if (line := self._long(n)) is not None]

    def _long(self, number: int) -> Line | None:
        start, end = self.offset_of(number), self.offset_of(number + 1)
        if start is None or end is None:
            return None
        return _line_between(self._file, start, end - 1)
