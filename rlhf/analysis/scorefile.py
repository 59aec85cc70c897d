"""Reading score files: JSONL or CSV with a score and, where it has them, more columns.

Columns are known by name, in any case and order: `score` (needed), `family`, `gold`, `id`,
`prompt`, `response`, `kl`. A file is read row by row, so it may be larger than memory. A row
that cannot be read is a problem with its line number, never a reason to stop or to be silent.
"""

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import DataError
from ..vocab import nearest

ONE_GROUP = "all"  # the family of rows that name none
LONGEST = 1 << 20  # characters of a line that are read
COLUMNS = ("score", "family", "gold", "id", "prompt", "response", "kl")
SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}  # that others use, and what they are called
NO_TEXT = {
    b"\x1f\x8b": "compressed (gzip): unpack it first",
    b"PK\3\4": "a zip archive or a spreadsheet: save the scores as CSV",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}
AN_ARRAY = "is a JSON array; give one object a line (JSONL)"
_ARRAY = re.compile(r"\[\s*?[{\]\n]")  # of objects, or over several lines: no line of it is a row
_UNNAMED = (None, "")
NONE_WRITTEN = {"", "null", "none"}  # a score that is not there, as CSV files spell it


class Row(NamedTuple):
    """A scored response. A score of None is one that was not written down."""

    line: int
    family: str
    score: float | None
    gold: float | None
    cluster: str | None  # what its prompt is known by
    fields: dict[str, Any]


class Bad(NamedTuple):
    """A line that holds no scored response, and why."""

    line: int
    why: str


def read_scores(path: str | Path) -> Iterator[Row | Bad]:
    """The rows of a score file in order. Raises DataError if it cannot be read or has no score."""
    try:
        with open(path, "rb") as raw:
            _check_kind(raw.peek(4), path)
            with TextIOWrapper(raw, "utf-8-sig", "replace", newline="") as file:
                yield from _read(file, path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _check_kind(start: bytes, path: str | Path) -> None:
    """Refuse a file that is no UTF-8 text by what it is."""
    for magic, what in NO_TEXT.items():
        if start.startswith(magic):
            raise DataError(f"{path} is {what}")


def _read(file: IO[str], path: str | Path) -> Iterator[Row | Bad]:
    start = file.read(4096).lstrip()
    if not start:
        raise DataError(f"{path} is empty: a score file is JSONL or CSV with a score in each row")
    if _ARRAY.match(start):
        raise DataError(f"{path} {AN_ARRAY}")
    file.seek(0)
    is_json = start[0] in "{[" or str(path).lower().endswith((".jsonl", ".json", ".ndjson"))
    for line, fields in _json_rows(file) if is_json else _csv_rows(file, path):
        yield _row(line, fields) if isinstance(fields, dict) else Bad(line, fields)


def _json_rows(file: IO[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(_lines(file), start=1):
        if len(line) >= LONGEST:
            yield number, f"is longer than {LONGEST} characters"
        elif line.strip():
            yield number, _parsed(line)


def _lines(file: IO[str]) -> Iterator[str]:
    """Lines, each cut at LONGEST; what is beyond that of a line is skipped."""
    while line := file.readline(LONGEST):
        rest = line
        while len(rest) >= LONGEST and not rest.endswith("\n"):
            rest = file.readline(LONGEST)
        yield line


def _parsed(line: str) -> dict[str, Any] | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "is not valid JSON"
    if isinstance(value, list):
        return AN_ARRAY
    return value if isinstance(value, dict) else "is not a JSON object"


def _csv_rows(file: IO[str], path: str | Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    csv.field_size_limit(LONGEST)
    reader = csv.reader(chain(_lines(file), [_END]))
    header = [name.strip().lower() for name in next(filter(None, reader), [])]
    if "score" not in header:
        _check_separator(header, path)
        found = ", ".join(header)[:120]
        raise DataError(f"{path} has no column 'score'{nearest('score', header)}: {found}")
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield reader.line_num, f"is not valid CSV: {error}; read as one from line {first} on"
            continue
        if cells is None or cells == [_END]:
            return
        if cells and cells[-1].endswith(_END):
            last = reader.line_num - 1
            yield first, f"opens a quote that nothing closes: lines {first} to {last} are lost"
        elif cells:
            yield reader.line_num, _named(header, cells)


def _check_separator(header: list[str], path: str | Path) -> None:
    """Refuse a heading that would have a score, were its fields separated by commas."""
    for separator, name in SEPARATORS.items():
        cells = ",".join(header).split(separator)
        if len(cells) > 1 and "score" in (cell.strip(' "') for cell in cells):
            raise DataError(f"{path}: fields are separated by {name}: use commas")


_END = "\0end"  # a line of ours after the last: in a cell where a quote is still open


def _named(header: list[str], cells: list[str]) -> dict[str, Any] | str:
    if len(cells) > len(header):
        return f"has {len(cells)} cells, the heading {len(header)}"
    return dict(zip(header, cells, strict=False))


def _row(line: int, fields: dict[str, Any]) -> Row | Bad:
    known = {key.lower(): value for key, value in fields.items() if key.lower() in COLUMNS}
    if "score" not in known:
        return Bad(line, "has no score")
    score = known["score"]
    value = _number(score)
    absent = score is None or (isinstance(score, str) and score.strip().lower() in NONE_WRITTEN)
    if value is None and not absent:
        return Bad(line, f"score is {score!r:.40}, not a number")
    group = known.get("family")
    family = ONE_GROUP if group is None or group == "" else _text(group)
    cluster = next((known[key] for key in ("id", "prompt") if known.get(key) not in _UNNAMED), None)
    name = None if cluster is None else _text(cluster)
    return Row(line, sys.intern(family), value, _number(known.get("gold")), name, known)


def _number(value: Any) -> float | None:
    """A float, nan and infinities included; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:  # 1_000 is a number to Python alone
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf
    except ValueError:
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def good_rows(rows: Iterable[Row | Bad]) -> Iterator[Row]:
    """The rows that were read, without the problems."""
    return (row for row in rows if isinstance(row, Row))
