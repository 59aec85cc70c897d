"""Disk use as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sessions.disk import CACHE

from .table import layout

LARGEST = 5  # runs that are named


def usage_lines(
    usage: Mapping[str, int],
    runs: Sequence[Mapping[str, Any]],
    items: Sequence[Mapping[str, Any]],
    freed: int | None,
) -> Iterator[str]:
    """What takes space, and what was given back, or would be if `freed` is None."""
    yield from layout([["PART", "size"], *([name, size(n)] for name, n in usage.items())], None)
    if runs:
        yield ""
        rows = [[r["id"], size(r["bytes"]), size(r["checkpoints"])] for r in runs[:LARGEST]]
        yield from layout([["LARGEST RUNS", "size", "checkpoints"], *rows], None)
    yield ""
    for item in items:
        yield f"{'would remove' if freed is None else 'removed'} {item['kind']} {item['path']}"
    total = sum(item["bytes"] for item in items) if freed is None else freed
    yield f"{size(total)} {'would be' if freed is None else 'were'} given back"


def remarks(items: Sequence[Mapping[str, Any]], kept: int) -> Iterator[str]:
    """What removing costs, and the bytes of checkpoints that stay."""
    if any(item["kind"] == CACHE for item in items):
        yield "with the cache go measurements: they are made again when they are wanted"
    if kept:
        yield f"{size(kept)} of checkpoints of finished runs stay: --checkpoints removes them too"


def size(count: float) -> str:
    """Bytes in about three figures: 512 B, 3.4 MB, 1.2 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
