"""The rows of the runs list as CSV and JSON text."""

from collections.abc import Sequence
from typing import Any

from .columns import COLUMNS
from .render import clean, document_text
from .state import Row
from .table import to_csv


def csv_of(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """The columns shown, unrounded, with the error and count of each measured one."""
    fields = [COLUMNS[key] for key in columns]
    header: list[str] = []
    for field in fields:
        header += [field.key, *([f"{field.key}.se", f"{field.key}.n"] if field.error else [])]
    return to_csv(header, [_line(row, columns) for row in rows])


def _line(row: Row, columns: Sequence[str]) -> list[Any]:
    cells: list[Any] = []
    for key in columns:
        field = COLUMNS[key]
        cells.append(flat(row.value(field)))
        if field.error and field.count:
            alone = not row.is_group
            cells += [field.error(row.runs[0]), field.count(row.runs[0])] if alone else [None, None]
    return cells


def flat(value: Any) -> Any:
    """A value for a CSV cell."""
    if isinstance(value, dict):
        return " ".join(f"{key}={item:.6g}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(clean(str(item)) for item in value)
    return clean(value) if isinstance(value, str) else value


def json_of(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """All facts of the rows' runs, whatever columns are shown."""
    return document_text({"format": 1, "runs": [run for row in rows for run in row.runs]}) + "\n"
