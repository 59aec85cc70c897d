"""Two grades side by side; what differs is marked."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from rich.text import Text

from .grade_detail import mapping, objects, shown, value_text
from .grading import Document, score_of
from .render import clean, pad


def compared_lines(pair: tuple[Document, Document], room: int) -> list[Text]:
    """Two grades side by side; what differs is marked."""
    wide = max(12, (room - 22) // 2)
    lines = []
    for label, left, right, same in _compared(*pair):
        mark = " " if same else "≠"
        columns = [wrap(text, wide - 1) or [""] for text in (left, right)]
        for number in range(max(map(len, columns))):
            a, b = (column[number] if number < len(column) else "" for column in columns)
            head = f"{mark} {pad(label if not number else '', 18)}"
            lines.append(Text(f"{head} {pad(a, wide)}{b}", "" if same else "bold"))
    return lines


def _compared(left: Document, right: Document) -> Iterator[tuple[str, str, str, bool]]:
    yield from (_both(key, left.get(key), right.get(key)) for key in ("submission", "reward"))
    named = dict.fromkeys([*mapping(left, "components"), *mapping(right, "components")])
    for name in named:
        ours, theirs = (mapping(mapping(d, "components"), name) for d in (left, right))
        yield _both(str(name), ours.get("score"), theirs.get("score"))
        parts = dict.fromkeys([*mapping(ours, "parts"), *mapping(theirs, "parts")])
        for part in parts:
            a, b = mapping(mapping(ours, "parts"), part), mapping(mapping(theirs, "parts"), part)
            yield _both(f"  {part}", _part(a), _part(b))
    statuses = [
        {str(rm.get("name")): rm.get("status") for rm in objects(d, "rms")} for d in (left, right)
    ]
    for name in dict.fromkeys([*statuses[0], *statuses[1]]):
        yield _both(name, statuses[0].get(name), statuses[1].get(name))
    levels = [mapping(d, "isolation").get("level") for d in (left, right)]
    yield _both("isolation", *levels)
    for key in dict.fromkeys([*mapping(left, "hashes"), *mapping(right, "hashes")]):
        yield _both(f"sha256 {key}", *(mapping(d, "hashes").get(key) for d in (left, right)))


def _part(part: Document) -> str | None:
    return f"{shown(score_of(part)).strip()} {clean(str(part.get('why')))}" if part else None


def _both(label: str, left: Any, right: Any) -> tuple[str, str, str, bool]:
    return clean(label), value_text(left), value_text(right), left == right
