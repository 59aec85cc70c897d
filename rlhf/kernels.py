"""The two operations that decide the speed of models this small on a CPU.

`linear` goes to oneDNN where torch was built with it: at these shapes its matrix product can run
twice as fast as the BLAS behind torch's own linear, forward and backward. Attention rows are
KEY_SLOTS wide because the CPU softmax works on whole vectors: 16 scores cost a tenth of 14.
"""

import math
import os
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KEY_SLOTS = 16


def _probe_onednn() -> Any:
    """oneDNN's `x @ w.T + b`, or None where it is absent or does not agree with torch's."""
    try:
        operation = torch.ops.mkldnn._linear_pointwise.default
        x, weight = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)
        agrees = torch.allclose(operation(x, weight, None, "none", [], ""), x @ weight.t())
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
    return operation if agrees else None


_onednn = _probe_onednn()


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [M, I] times weight [O, I] transposed, plus bias [O]: [M, O]."""
    if _onednn is None or x.dtype != torch.float32 or x.device.type != "cpu" or not x.numel():
        return F.linear(x, weight, bias)
    return _onednn(x, weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (grad,) = grads
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            _product(grad, weight.t()) if needs_x else None,
            _product(grad.t(), x.t()) if needs_weight else None,
            grad.sum(0) if needs_bias else None,
        )


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., I] through weight [O, I] and bias [O]: [..., O]."""
    rows = x.reshape(-1, x.shape[-1])
    if torch.is_grad_enabled():
        out = _Linear.apply(rows, weight, bias)
    else:
        out = _product(rows, weight, bias)
    return out.view(*x.shape[:-1], weight.shape[0])


class Linear(nn.Linear):
    """nn.Linear, computed by `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def pad_slots(x: Tensor) -> Tensor:
    """Keys or values [N, H, T, D] with zero slots appended: [N, H, KEY_SLOTS, D]."""
    return F.pad(x, (0, 0, 0, KEY_SLOTS - x.shape[2]))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention: q [N, H, Q, D], k and v [N, H, KEY_SLOTS, D] -> [N, Q, H*D].

    mask [Q, KEY_SLOTS] is added to the scores: 0 where a query may look, -inf elsewhere.
    """
    N, H, Q, D = q.shape
    q, k, v = (part.reshape(N * H, -1, D) for part in (q, k, v))
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / math.sqrt(D))
    mixed = torch.bmm(scores.softmax(-1), v)
    return mixed.view(N, H, Q, D).transpose(1, 2).reshape(N, Q, H * D)


def visible(first: int, queries: int, causal: bool) -> Tensor:
    """Mask [queries, KEY_SLOTS] for queries at positions first, first + 1, ...

    Causal: each sees itself and all before it. Otherwise every one of the `queries` positions.
    """
    slots = torch.arange(KEY_SLOTS)
    last = torch.arange(first, first + queries) if causal else torch.full((queries,), queries - 1)
    return torch.zeros(queries, KEY_SLOTS).masked_fill(slots > last[:, None], -math.inf)


def use_one_thread() -> None:
    """One thread, unless OMP_NUM_THREADS asks for another number.

    At these sizes a second thread gains nothing, and results repeat bit by bit with one.
    """
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)
