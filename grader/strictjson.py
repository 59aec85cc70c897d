"""JSON from strangers: bounded in size and depth, no NaN, no key given twice."""

import json
import re
from typing import Any

MAX_BYTES = 4 << 20
MAX_DEPTH = 32
MAX_DIGITS = 300  # a float holds no more

_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


class NotJson(ValueError):
    """The bytes are not JSON that we accept; the message says why, in one line."""


def _check_depth(text: str, limit: int) -> None:
    """Refuse nesting before the parser meets it, so that no text can exhaust the stack."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        bracket = match.group()
        depth += (bracket in "[{") - (bracket in "]}") if len(bracket) == 1 else 0
        if depth > limit:
            raise NotJson(f"nested deeper than {limit} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"key {twice!r:.60} is given twice")
    return found


def _no_constant(name: str) -> float:
    raise NotJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotJson(f"number {text[:40]} is too large")
    return value


def _short_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise NotJson(f"an integer of {len(text)} digits")
    return int(text)


def parse(data: bytes, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The value that `data` spells. Raises NotJson."""
    if len(data) > max_bytes:
        raise NotJson(f"{len(data)} bytes, more than {max_bytes}")
    try:
        text = data.decode("utf-8")
        _check_depth(text, max_depth)
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_int,
        )
    except NotJson:
        raise
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise NotJson(f"not JSON: {error.msg} at {where}") from None


def is_number(value: Any) -> bool:
    """Whether a parsed value is a number; a bool is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
