"""Tables as lines of text: columns as wide as what they hold, numbers to the right."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from .render import pad, width


def layout(
    rows: Sequence[Sequence[str]], limit: int | None, texts: Sequence[int] = ()
) -> list[str]:
    """Rows of cells as aligned lines, the first row being the heading.

    The first column and those in `texts` are aligned to the left, the others to the right. The
    first gives way if the lines are wider than `limit` cells; the others are never cut.
    """
    columns = [max(width(row[index]) for row in rows) for index in range(len(rows[0]))]
    if limit is not None:
        others = sum(columns[1:]) + len(columns) - 1
        columns[0] = max(4, min(columns[0], limit - others))
    return [
        " ".join(
            pad(cell, size, right=index > 0 and index not in texts)
            for index, (cell, size) in enumerate(zip(row, columns, strict=True))
        ).rstrip()
        for row in rows
    ]


def to_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """RFC 4180 text; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(["" if value is None else value for value in row])
    return text.getvalue()
