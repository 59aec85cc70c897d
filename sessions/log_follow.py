"""Following a log as it grows: whole lines only, through rotation and truncation."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from .log_pages import Line, lines_of
from .log_text import LONGEST_BYTES, line_text

MOST_BYTES = 1 << 22  # of one poll
FINGERPRINT = 64  # bytes before the offset that must still be what they were


@dataclass(frozen=True)
class Update:
    """What one poll found. `restarted` says why reading began again at the top of the file.

    `pending` is the last line while it still has no end; `more` says that poll should be called
    again at once.
    """

    lines: list[Line] = field(default_factory=list)
    restarted: str | None = None
    pending: str = ""
    more: bool = False


class Follower:
    """Reads on from an offset. Never raises for a file that is missing or not readable yet."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset  # where the first line that was not handed out begins
        self._handle: int | None = None
        self._mark = b""
        self._rotated = False

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def poll(self) -> Update:
        """The lines that were finished since the last poll."""
        if self._handle is None and not self._open():
            return Update()
        restarted = self._check()
        data = self._read(self.offset, MOST_BYTES)
        end = data.rfind(b"\n") + 1
        if not end and len(data) == MOST_BYTES:
            end = self._skip_long(data)
        lines = list(lines_of(data[:end], self.offset))
        begin = self.offset
        self.offset += end
        self._mark = self._read(max(0, self.offset - FINGERPRINT), min(FINGERPRINT, self.offset))
        more = len(data) == MOST_BYTES or self._rotated_away(begin + len(data))
        return Update(lines, restarted, line_text(data[end:]), more)

    def _open(self) -> bool:
        try:
            self._handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return False
        start = max(0, self.offset - FINGERPRINT)
        self._mark = self._read(start, self.offset - start)
        return True

    def _read(self, offset: int, size: int) -> bytes:
        try:
            return os.pread(self._handle, size, offset) if self._handle is not None else b""
        except OSError:
            return b""

    def _check(self) -> str | None:
        """Begin again at the top if the file is no longer the one that was read."""
        assert self._handle is not None
        if self._rotated:
            self._rotated = False
            return "rotated"
        size = os.fstat(self._handle).st_size
        if size >= self.offset:
            start = self.offset - len(self._mark)
            if self._read(start, len(self._mark)) == self._mark:
                return None
            reason = "rewritten"
        else:
            reason = "truncated"
        self.offset, self._mark = 0, b""
        return reason

    def _rotated_away(self, read_to: int) -> bool:
        """Whether the path now names another file; if this one is read out, change to it."""
        assert self._handle is not None
        mine = os.fstat(self._handle)
        try:
            named = os.stat(self.path)
        except OSError:
            return False
        if (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino) or read_to < mine.st_size:
            return False
        self.close()
        self.offset, self._mark, self._rotated = 0, b"", True
        return True

    def _skip_long(self, data: bytes) -> int:
        """Bytes to pass over of a line longer than one poll: all but its last state."""
        return len(data) - LONGEST_BYTES
