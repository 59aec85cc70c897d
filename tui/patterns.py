"""Which regular expressions may be tried in the dashboard itself, beside its event loop."""

import re
from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined]  # the one reader of what `re` understands
from typing import Any

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def may_never_end(pattern: str) -> bool:
    """Whether a repeated part holds a repeat or an open choice, as in (a+)+ or (a|aa)+.

    Refuses some that would end too. Raises re.error for what is no regular expression.
    """
    return any(_loops(item) for item in _items(_parser.parse(pattern, re.IGNORECASE)))


def _loops(item: tuple[Any, Any]) -> bool:
    operator, argument = item
    if str(operator) not in _REPEATS or argument[1] == 1:
        return False
    return any(str(op) in _REPEATS or _overlaps(op, arg) for op, arg in _items(argument[2]))


def _overlaps(operator: Any, argument: Any) -> bool:
    """Whether it is a choice whose alternatives do not each begin with a letter of their own."""
    if str(operator) != "BRANCH":
        return False
    heads: list[tuple[Any, Any]] = [
        branch[0] if len(branch) else ("", "") for branch in argument[1]
    ]
    letters = {chr(code).lower() for op, code in heads if str(op) == "LITERAL"}
    return len(letters) < len(heads)


def _items(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (operator, argument) in a parsed pattern."""
    if isinstance(tree, _parser.SubPattern):
        for item in tree:
            yield item
            yield from _items(item[1])
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from _items(part)
