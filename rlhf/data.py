"""Records: prompts and labelled responses, as JSON lines and as tensors.

A record is {"id", "family", "attrs": [4 ints]}; a labelled one adds "response": [8 tokens] and
"label": a number.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .errors import DataError
from .runlog import dumps, read_log, replace_file
from .vocab import PROMPT_LEN, RESP_LEN, encode_response, prompt_from_record

Record = dict[str, Any]


def read_jsonl(path: str | Path) -> list[Record]:
    """The objects of a JSONL file. A last line cut short is ignored.

    Raises DataError naming the file, and the number of any other line that is no JSON object.
    """
    try:
        log = read_log(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if log.problems:
        line, problem = log.problems[0]
        raise DataError(f"{path}, line {line}: {problem}")
    return log.rows


def write_jsonl(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace `path` atomically with one JSON object a line."""
    replace_file(path, "".join(dumps(row) + "\n" for row in rows).encode())


def _rows_of(records: Sequence[Record], encode: Callable[[Record], list[int]]) -> list[list[int]]:
    rows = []
    for index, record in enumerate(records):
        try:
            rows.append(encode(record))
        except DataError as error:
            raise DataError(f"{_name(index, record)}: {error}") from error
    return rows


def _name(index: int, record: Record) -> str:
    return f"record {index + 1} ({record.get('id', '?')!r:.40})"


def _response_of(record: Record) -> list[int]:
    if "response" not in record:
        raise DataError("has no 'response'")
    return encode_response(record["response"])


def prompts_tensor(records: Sequence[Record]) -> Tensor:
    """Prompts [B, 6] of B records, int64; [0, 6] of none. Raises DataError naming the record."""
    rows = _rows_of(records, prompt_from_record)
    return torch.tensor(rows, dtype=torch.long).view(-1, PROMPT_LEN)


def responses_tensor(records: Sequence[Record]) -> Tensor:
    """Responses [B, 8] of B labelled records, int64. Raises DataError naming the record."""
    rows = _rows_of(records, _response_of)
    return torch.tensor(rows, dtype=torch.long).view(-1, RESP_LEN)


def labels_tensor(records: Sequence[Record]) -> Tensor:
    """Labels float32 [B] of B labelled records. Raises DataError naming the record."""
    for index, record in enumerate(records):
        label = record.get("label")
        number = isinstance(label, numbers.Real) and not isinstance(label, bool)
        if not number or not math.isfinite(label):  # type: ignore[arg-type]
            name = _name(index, record)
            raise DataError(f"{name}: label is {label!r:.40}, not a finite number")
    return torch.tensor([float(record["label"]) for record in records], dtype=torch.float32)


def group_by_family(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records by family, in order of first appearance."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["family"], []).append(record)
    return groups


def load_labelled(path: str | Path) -> list[Record]:
    """The records of a labelled file, all checked. Raises DataError naming file and record."""
    records = read_jsonl(path)
    if not records:
        raise DataError(f"{path} holds no records")
    try:
        for check in (prompts_tensor, responses_tensor, labels_tensor):
            check(records)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    return records


def load_prompts(path: str | Path) -> list[Record]:
    """The records of a prompt file, every one checked. Raises DataError naming file and record."""
    records = read_jsonl(path)
    if not records:
        raise DataError(f"{path} holds no prompts")
    try:
        prompts_tensor(records)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    return records
