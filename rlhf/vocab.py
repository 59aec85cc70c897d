"""The 40 tokens, and how prompts and responses are spelled in them.

A prompt is `<family> v_a1 v_a2 v_a3 v_a4 <sep>`; a response is 8 content tokens.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

from .errors import DataError

FAMILIES = ["anvil", "birch", "cobalt", "dune", "ember", "fjord"]
N_ATTR = 4
N_VAL = 8
CONTENT = [
    "ba",
    "da",
    "fa",
    "ga",
    "ha",
    "ja",
    "ka",
    "la",
    "ma",
    "na",
    "pa",
    "ra",
    "sa",
    "ta",
    "va",
    "wa",
    "za",
    "be",
    "de",
    "fe",
    "ge",
    "he",
    "je",
    "ke",
]
RESP_LEN = 8
PROMPT_LEN = N_ATTR + 2
SEQ_LEN = PROMPT_LEN + RESP_LEN

TOKENS = [
    "<pad>",
    "<sep>",
    *(f"<{family}>" for family in FAMILIES),
    *(f"v{value}" for value in range(N_VAL)),
    *CONTENT,
]
TOK2ID = {token: index for index, token in enumerate(TOKENS)}
PAD = TOK2ID["<pad>"]
SEP = TOK2ID["<sep>"]
FAM_ID = {family: TOK2ID[f"<{family}>"] for family in FAMILIES}
VAL_ID = [TOK2ID[f"v{value}"] for value in range(N_VAL)]
CONTENT_ID = [TOK2ID[token] for token in CONTENT]
CONTENT_LO = CONTENT_ID[0]
CONTENT_HI = CONTENT_ID[-1] + 1

_FAMILY_OF_ID = {index: family for family, index in FAM_ID.items()}
_VALUE_OF_ID = {index: value for value, index in enumerate(VAL_ID)}
_CONTENT_SET = frozenset(CONTENT)


def nearest(word: object, choices: Sequence[str]) -> str:
    """` (did you mean X?)` for the closest of `choices`, or an empty string."""
    close = get_close_matches(str(word), choices, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def encode_prompt(family: str, attrs: Sequence[int]) -> list[int]:
    """The prompt's 6 token ids. Raises DataError for an unknown family or a bad attribute."""
    if not isinstance(family, str) or family not in FAM_ID:
        raise DataError(f"unknown family {family!r}{nearest(family, FAMILIES)}")
    return [FAM_ID[family], *(VAL_ID[value] for value in _checked_attrs(attrs)), SEP]


def _as_sequence(values: Any) -> Any:
    """`values`, as a list if it is an array or a tensor."""
    return values.tolist() if hasattr(values, "tolist") else values


def _checked_attrs(attrs: Sequence[int]) -> list[int]:
    attrs = _as_sequence(attrs)
    if isinstance(attrs, str) or not isinstance(attrs, Sequence) or len(attrs) != N_ATTR:
        raise DataError(f"attrs must be a list of {N_ATTR} integers, found {attrs!r:.80}")
    for value in attrs:
        integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not integer or not 0 <= value < N_VAL:
            raise DataError(f"attribute {value!r:.40} is not an integer from 0 to {N_VAL - 1}")
    return [int(value) for value in attrs]


def decode_prompt(ids: Sequence[int]) -> tuple[str, list[int]]:
    """(family, attributes) of a prompt's 6 ids. Raises DataError if they spell no prompt."""
    ids = [int(index) for index in ids]
    spelled = (
        len(ids) == PROMPT_LEN
        and ids[0] in _FAMILY_OF_ID
        and all(index in _VALUE_OF_ID for index in ids[1:-1])
        and ids[-1] == SEP
    )
    if not spelled:
        raise DataError(f"ids {ids} spell no prompt: <family>, {N_ATTR} values, <sep>")
    return _FAMILY_OF_ID[ids[0]], [_VALUE_OF_ID[index] for index in ids[1:-1]]


def encode_response(tokens: Sequence[str]) -> list[int]:
    """The response's 8 token ids. Raises DataError for another length or a foreign token."""
    tokens = _as_sequence(tokens)
    if isinstance(tokens, str) or not isinstance(tokens, Sequence) or len(tokens) != RESP_LEN:
        raise DataError(f"a response has {RESP_LEN} tokens, found {tokens!r:.80}")
    for token in tokens:
        if not isinstance(token, str) or token not in _CONTENT_SET:
            raise DataError(f"{token!r:.40} is not a response token of the vocabulary")
    return [TOK2ID[token] for token in tokens]


def decode_response(ids: Sequence[int]) -> list[str]:
    """The tokens of a response's 8 ids. Raises DataError for another length or foreign id."""
    ids = [int(index) for index in ids]
    if len(ids) != RESP_LEN or not all(CONTENT_LO <= index < CONTENT_HI for index in ids):
        raise DataError(f"ids {ids} spell no response: {RESP_LEN} content tokens")
    return [TOKENS[index] for index in ids]


def prompt_from_record(record: Mapping[str, Any]) -> list[int]:
    """The 6 prompt ids of a record with `family` and `attrs`. Raises DataError."""
    for key in ("family", "attrs"):
        if key not in record:
            raise DataError(f"record {record.get('id', '?')!r:.40} has no {key!r}")
    return encode_prompt(record["family"], record["attrs"])
