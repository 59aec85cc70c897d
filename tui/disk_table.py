"""Disk use as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .table import layout


def usage_lines(
    usage: Mapping[str, int], items: Sequence[Mapping[str, Any]], freed: int, dry_run: bool
) -> Iterator[str]:
    """What takes space, and what was, or would be, given back."""
    yield from layout([["PART", "size"], *([name, size(n)] for name, n in usage.items())], None)
    yield ""
    for item in items:
        yield f"{'would remove' if dry_run else 'removed'} {item['kind']} {item['path']}"
    total = sum(item["bytes"] for item in items) if dry_run else freed
    yield f"{size(total)} {'would be' if dry_run else 'were'} given back"


def size(count: float) -> str:
    """Bytes in about three figures: 512 B, 3.4 MB, 1.2 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
