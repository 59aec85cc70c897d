"""Reward wrappers: an operator's Python file that changes the raw reward before the KL term.

It defines transform(records, response_tokens, rewards) -> rewards, three lists of one length.
It runs with the rights of whoever starts the training.
"""

import math
import numbers
import runpy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .data import Record
from .errors import WrapperError
from .vocab import decode_response

WrapFn = Callable[[list[Record], list[list[str]], list[float]], Sequence[float]]


def load_wrapper(path: str) -> WrapFn:
    """The transform of a wrapper file. Raises WrapperError naming the file."""
    try:
        namespace = runpy.run_path(path, run_name="reward_wrapper")
    except Exception as error:  # the file is the operator's code: anything may come out of it
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
        wrapped = wrap_fn(list(records), tokens, raw.tolist())
    except Exception as error:  # likewise
        raise WrapperError(f"{where}: raised {type(error).__name__}: {error}") from error
    values = _as_list(wrapped, where)
    if len(values) != len(raw):
        raise WrapperError(f"{where}: returned {len(values)} rewards for {len(raw)} rows")
    for row, value in enumerate(values):
        if not _is_finite(value):
            family = records[row].get("family")
            raise WrapperError(f"{where}, row {row}, family {family}: reward is {value!r:.40}")
    return torch.tensor([float(value) for value in values], dtype=torch.float32)


def _as_list(wrapped: Any, where: str) -> list[Any]:
    if hasattr(wrapped, "tolist"):
        wrapped = wrapped.tolist()
    try:
        return list(wrapped)
    except TypeError:
        kind = type(wrapped).__name__
        raise WrapperError(f"{where}: returned {kind}, not a list of rewards") from None


def _is_finite(value: Any) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number and hasattr(value, "item"):
        return _is_finite(value.item())
    return number and math.isfinite(value)
