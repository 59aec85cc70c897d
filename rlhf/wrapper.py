"""Reward wrappers: an operator's Python file that changes the raw reward before the KL term.

It defines transform(records, response_tokens, rewards) -> rewards, three lists of one length.
It runs with the rights of whoever starts the training.
"""

import numbers
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import torch
from torch import Tensor

from .data import Record
from .errors import WrapperError
from .vocab import decode_response

WrapFn = Callable[[list[Record], list[list[str]], list[float]], Sequence[float]]
_MAX = torch.finfo(torch.float32).max  # what rewards are held in


def load_wrapper(path: str) -> WrapFn:
    """The transform of a wrapper file. Raises WrapperError naming the file."""
    try:
        namespace = runpy.run_path(path, run_name="reward_wrapper")
    except (Exception, SystemExit) as error:  # the operator's code: anything may come out of it
        raise WrapperError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    transform = namespace.get("transform")
    if not callable(transform):
        raise WrapperError(f"{path} defines no transform(records, response_tokens, rewards)")
    return transform


def wrap(
    wrap_fn: WrapFn, name: str, step: int, records: list[Record], responses: Tensor, raw: Tensor
) -> Tensor:
    """Rewards [N] that the wrapper makes of raw [N]; responses [N, 8], N records.

    Raises WrapperError naming the wrapper, the step and, where one is at fault, row and family.
    """
    where = f"wrapper {name}, step {step}"
    tokens = [decode_response(row) for row in responses.tolist()]
    try:
        values = _as_list(wrap_fn([_copy(record) for record in records], tokens, raw.tolist()))
    except (Exception, SystemExit) as error:  # likewise
        raise WrapperError(f"{where}: raised {type(error).__name__}: {error}") from error
    if not isinstance(values, list):
        raise WrapperError(f"{where}: returned {type(values).__name__}, not a list of rewards")
    if len(values) != len(raw):
        raise WrapperError(f"{where}: returned {len(values)} rewards for {len(raw)} rows")
    for row, value in enumerate(values):
        if not _is_finite(value):
            family = records[row].get("family")
            raise WrapperError(f"{where}, row {row}, family {family}: reward is {value!r:.40}")
    return torch.tensor([float(value) for value in values], dtype=torch.float32)


def _copy(record: Record) -> Record:
    """A record that a wrapper may write into: the prompts stay what they are for later steps."""
    return {key: list(val) if isinstance(val, list) else val for key, val in record.items()}


def _as_list(wrapped: Any) -> Any:
    """The rewards as a list, or `wrapped` itself where it has no order of rows."""
    if hasattr(wrapped, "tolist"):
        wrapped = wrapped.tolist()
    ordered = isinstance(wrapped, Iterable) and not isinstance(wrapped, Mapping | Set)
    return list(wrapped) if ordered else wrapped


def _is_finite(value: Any) -> bool:
    """Whether a reward is a number, and one that float32 can hold."""
    if not isinstance(value, numbers.Real) and hasattr(value, "item"):
        try:
            value = value.item()
        except (TypeError, ValueError, RuntimeError):  # more than one number
            return False
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return number and bool(abs(value) <= _MAX)
