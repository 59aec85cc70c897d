"""Lines of a log before and after a place in it: the byte offset of a line's start."""

from pathlib import Path

from sessions.log_pages import PAGE_BYTES, Line, last_page, lines_of
from sessions.log_text import LONGEST_BYTES, line_text

BLOCK = 1 << 16


def lines_before(path: Path, end: int, count: int) -> list[Line]:
    """Up to `count` lines that end before byte `end`. Raises OSError."""
    if end <= 0 or count <= 0:
        return []
    lines = last_page(path, count, end)
    if lines:
        return lines
    start = max(0, end - LONGEST_BYTES)  # the end of a line without end
    with open(path, "rb") as file:
        file.seek(start)
        return [Line(start, line_text(file.read(end - start)))]


def lines_from(path: Path, start: int, count: int) -> list[Line]:
    """Up to `count` whole lines that begin at byte `start` or after. Raises OSError."""
    with open(path, "rb") as file:
        file.seek(start)
        data = b""
        while data.count(b"\n") < count and len(data) < PAGE_BYTES:
            more = file.read(max(BLOCK, len(data)))
            if not more:
                break
            data += more
    found = list(lines_of(data, start))[:count]
    if not found and len(data) >= PAGE_BYTES:
        found = [Line(start, line_text(data[:LONGEST_BYTES]))]
    return found
