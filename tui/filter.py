"""The filter language: `state=running dune.kl>5 or !(name~"^kl0")`.

    expr   = all ("or" all)*
    all    = term+                        every term must hold
    term   = "!" term | "(" expr ")" | field op value | word
    op     = ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"

A bare word means "the name contains it". `:` is contains (or, in a list or a mapping, has),
`~` is a regular expression, the rest compare: as numbers where the field is one, else as text,
in any case. A field that is missing matches no comparison, not even `!=`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .fields import Run, getter
from .patterns import may_never_end

Test = Callable[[Run], bool]
_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[()]|!(?!=))|(?P<op>!=|<=|>=|[:=<>~])|(?P<quoted>\"[^\"]*\"|'[^']*')"
    r"|(?P<word>[^\s()!:=<>~\"']+))"
)
_VALUE = re.compile(r"\s*(?:(?P<quoted>\"[^\"]*\"|'[^']*')|(?P<word>[^\s()\"']+))")
_SEARCHED = 1000  # characters of a text that a regular expression is tried on


class FilterError(ValueError):
    """A filter that cannot be read; the message says where and how to mend it."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


def compile_filter(text: str) -> Test:
    """The test that a filter means; an empty filter holds for every run. Raises FilterError."""
    tokens = _tokens(text)
    if not tokens:
        return lambda run: True
    parser = _Parser(tokens)
    try:
        test = parser.expression()
    except RecursionError:
        raise FilterError("the filter is nested too deeply") from None
    if parser.here is not None:
        raise FilterError(f"unexpected {parser.here.text!r}: parentheses must pair")
    return test


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        after_operator = bool(tokens) and tokens[-1].kind == "op"
        match = (_VALUE if after_operator else _TOKEN).match(text, place)
        if match is None and after_operator:
            raise FilterError(f"{tokens[-1].text!r} needs a value after it")
        if match is None:
            raise FilterError(f"a quote is opened but not closed: {text[place:].strip()!r:.40}")
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind]))
        place = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def here(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self) -> _Token | None:
        token = self.here
        self._place += 1
        return token

    def _is_word(self, word: str) -> bool:
        here = self.here
        return here is not None and here.kind == "word" and here.text.lower() == word

    def expression(self) -> Test:
        tests = [self._all()]
        while self._is_word("or"):
            self._take()
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else lambda run: any(test(run) for test in tests)

    def _all(self) -> Test:
        tests = []
        while self.here is not None and self.here.text != ")" and not self._is_word("or"):
            if self._is_word("and"):
                self._take()
            tests.append(self._term())
        if not tests:
            found = self.here.text if self.here else "the end"
            raise FilterError(f"expected a term before {found!r}")
        return tests[0] if len(tests) == 1 else lambda run: all(test(run) for test in tests)

    def _term(self) -> Test:
        token = self._take()
        if token is None:
            raise FilterError("expected a term, found the end")
        if token.kind == "mark":
            return self._marked(token.text)
        if token.kind == "op":
            raise FilterError(f"{token.text!r} needs a field before it, as in state{token.text}x")
        if self.here is not None and self.here.kind == "op":
            return self._comparison(token.text)
        return _contains(token)

    def _marked(self, mark: str) -> Test:
        if mark == "!":
            test = self._term()
            return lambda run: not test(run)
        if mark == ")":
            raise FilterError("a ')' has no '(' before it")
        test = self.expression()
        closing = self._take()
        if closing is None or closing.text != ")":
            raise FilterError("a '(' is opened but not closed")
        return test

    def _comparison(self, field: str) -> Test:
        operator = self._take()
        value = self._take()
        assert operator is not None
        if value is None or value.kind not in ("word", "quoted"):
            raise FilterError(
                f"{field}{operator.text} needs a value, as in {field}{operator.text}x"
            )
        if operator.text[0] in "<>" and value.kind == "word" and value.text[0] in "<>=~:":
            raise FilterError(f"{field}{operator.text}{value.text}: there is one operator too many")
        try:
            get = getter(field)
        except KeyError as error:
            raise FilterError(error.args[0]) from None
        return _compare(get, operator.text, _value(value))


def _value(token: _Token) -> str:
    return token.text[1:-1] if token.kind == "quoted" else token.text


def _contains(token: _Token) -> Test:
    needle = _value(token).lower()
    return lambda run: needle in str(run["name"]).lower()


def _compare(get: Callable[[Run], Any], operator: str, wanted: str) -> Test:
    if operator == "~":
        return _matching(get, wanted)
    if operator == ":":
        return _having(get, wanted.lower())
    sides = _ORDER[operator]
    number = _number(wanted)
    text = wanted.lower()

    def test(run: Run) -> bool:
        value = get(run)
        if value is None:
            return False
        if isinstance(value, int | float) and not isinstance(value, bool):
            return number is not None and sides(value, number)
        return sides(_text(value), text)

    return test


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _matching(get: Callable[[Run], Any], pattern: str) -> Test:
    try:
        if may_never_end(pattern):
            raise FilterError(
                f"{pattern!r:.40} repeats a repeat or a choice: it may never end; write it flat"
            )
        search = re.compile(pattern, re.IGNORECASE).search
    except (re.error, RecursionError, OverflowError) as error:
        raise FilterError(f"{pattern!r:.40} is no regular expression: {error}") from None

    def test(run: Run) -> bool:
        value = get(run)
        return value is not None and search(_text(value)[:_SEARCHED]) is not None

    return test


def _having(get: Callable[[Run], Any], wanted: str) -> Test:
    def test(run: Run) -> bool:
        value = get(run)
        if isinstance(value, Mapping):
            return any(key.lower() == wanted and bool(item) for key, item in value.items())
        if isinstance(value, list):
            return any(str(item).lower() == wanted for item in value)
        return value is not None and wanted in _text(value)

    return test


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return " ".join(str(item) for item in value).lower()
    return str(value).lower()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
