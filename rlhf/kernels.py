"""The two operations that decide the speed of models this small on a CPU.

`linear` goes to oneDNN where torch was built with it: at these shapes its matrix product can run
twice as fast as the BLAS behind torch's own linear, forward and backward. Attention rows are
KEY_SLOTS wide because the CPU softmax works on whole vectors: 16 scores cost a tenth of 14.
"""

import contextlib
import ctypes
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
    """x [M, I] times weight [O, I] transposed, plus bias [O]: [M, O].

    oneDNN's product cannot be differentiated. Gradients are recorded here only where a backward
    pass is itself to be differentiated (create_graph), and there it must be torch's.
    """
    fits = x.dtype == torch.float32 and x.device.type == "cpu" and x.numel()
    if _onednn is None or not fits or torch.is_grad_enabled():
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


# row p: what a query at position p may see, 0 for itself and all before it, -inf beyond
_SEES = torch.zeros(KEY_SLOTS, KEY_SLOTS).masked_fill(
    torch.ones(KEY_SLOTS, KEY_SLOTS).triu(1).bool(), -math.inf
)


def causal_mask(first: int, queries: int) -> Tensor:
    """Mask [queries, KEY_SLOTS] for queries at positions first, first + 1, ..."""
    return _SEES[first : first + queries]


def full_mask(length: int) -> Tensor:
    """Mask [1, KEY_SLOTS] for queries that see every one of `length` positions."""
    return _SEES[length - 1 : length]


def in_slots(*parts: Tensor) -> Tensor:
    """Keys or values [N, H, T, D] side by side, and zeros after them: [N, H, KEY_SLOTS, D]."""
    N, H, _, D = parts[0].shape
    free = KEY_SLOTS - sum(part.shape[2] for part in parts)
    return torch.cat([*parts, parts[0].new_zeros(()).expand(N, H, free, D)], 2)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention: q [N, H, Q, D], k and v [N, H, KEY_SLOTS, D] -> [N, Q, H*D].

    mask [Q or 1, KEY_SLOTS] is added to the scores: 0 where a query may look, -inf elsewhere.
    """
    N, H, Q, D = q.shape
    q, k, v = (part.reshape(N * H, part.shape[2], D) for part in (q, k, v))
    scores = torch.baddbmm(mask.to(q.dtype), q, k.transpose(1, 2), alpha=1 / math.sqrt(D))
    mixed = torch.bmm(scores.softmax(-1), v)
    return mixed.view(N, H, Q, D).transpose(1, 2).reshape(N, Q, H * D)


def prepare_process() -> None:
    """Settle how this process computes: one thread, and memory that is kept for reuse.

    One thread unless OMP_NUM_THREADS asks for more: at these sizes a second gains nothing, and
    with one, results repeat bit by bit. Tensors of a step are a few hundred kilobytes, which
    glibc would hand back to the system and fault in again each time.
    """
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        for parameter, value in _MALLOC.items():
            libc.mallopt(parameter, value)


_MALLOC = {
    -3: 32 << 20,
    -1: 1 << 30,
    -2: 64 << 20,
}  # glibc: mmap threshold, trim threshold, top pad
