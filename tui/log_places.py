"""Lines of a log before and after a place in it: the byte offset of a line's start."""

import stat
from collections.abc import Sequence
from pathlib import Path

from sessions.log_pages import PAGE_BYTES, Line, last_page, lines_of, torn_line
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


def lines_at(path: Path, top: int | None, moves: int, height: int) -> list[Line]:
    """A page that begins at byte `top` (None: the last page), moved by lines. Raises OSError."""
    if top is None and moves < 0:
        return last_page(path, height - moves)[:height]
    if top is None:
        torn = torn_line(path)
        lines = last_page(path, height)
        return [*lines, torn][-height:] if torn is not None else lines
    if moves < 0:
        before = lines_before(path, top, -moves)
        top = before[0].offset if before else 0
    wanted = height + max(0, moves)
    lines = lines_from(path, top, wanted)
    torn = torn_line(path) if len(lines) < wanted else None
    if torn is not None and torn.offset >= (lines[-1].offset + 1 if lines else top):
        lines.append(torn)
    return lines[max(0, min(moves, len(lines) - height)) :] if moves > 0 else lines


def at_end(path: Path, lines: Sequence[Line]) -> bool:
    """Whether no whole line follows these. Raises OSError."""
    return not lines or lines_from(path, lines[-1].offset, 2)[1:] == []


def first_written(paths: Sequence[Path]) -> Path:
    """The first of these files that holds something, else the first that is there."""
    sizes = {path: size for path in paths if (size := _size(path)) is not None}
    return next((path for path, size in sizes.items() if size), next(iter(sizes), paths[0]))


def _size(path: Path) -> int | None:
    """Bytes of a file; None where no such file can be looked at, by now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
