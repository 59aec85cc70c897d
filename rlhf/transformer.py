"""A small transformer without its heads: what the policy and the reward models share."""

from collections.abc import Mapping

from torch import Tensor, nn

from .kernels import Linear, attend, in_slots

KeyValues = tuple[Tensor, Tensor]  # each [N, H, T, D]


class Attention(nn.Module):
    """The two projections of multi-head attention; q, k, v packed in that order."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = Linear(width, 3 * width)
        self.out = Linear(width, width)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x [N, T, C] -> q, k, v, each [N, H, T, D]."""
        N, T, C = x.shape
        packed = self.qkv(x).view(N, T, 3, self.n_heads, C // self.n_heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v


class Block(nn.Module):
    """Pre-norm transformer block; the mask decides whether it is causal."""

    def __init__(self, width: int, n_heads: int, hidden: int) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = Attention(width, n_heads)
        self.ln2 = nn.LayerNorm(width)
        self.ff = nn.Sequential(Linear(width, hidden), nn.GELU(), Linear(hidden, width))

    def forward(
        self, x: Tensor, mask: Tensor, past: KeyValues | None = None
    ) -> tuple[Tensor, KeyValues]:
        """x [N, T, C] after a past of [N, H, P, D] -> x [N, T, C], its own keys and values."""
        q, k, v = self.attn.project(self.ln1(x))
        keys, values = ((past[0], k), (past[1], v)) if past else ((k,), (v,))
        return self.finish(x, attend(q, in_slots(*keys), in_slots(*values), mask)), (k, v)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """What follows attention: x and mixed [N, T, C] -> [N, T, C]."""
        x = x + self.attn.out(mixed)
        return x + self.ff(self.ln2(x))


class Trunk(nn.Module):
    """Embeddings, blocks and the final norm of a model of shape `cfg`; its heads come after."""

    def __init__(self, cfg: Mapping[str, int]) -> None:
        super().__init__()
        self.cfg, width = dict(cfg), cfg["d_model"]
        self.tok = nn.Embedding(self.cfg["vocab_size"], width)
        self.pos = nn.Embedding(self.cfg["seq_len"], width)
        self.blocks = nn.ModuleList(
            Block(width, self.cfg["n_heads"], self.cfg["d_ff"]) for _ in range(self.cfg["n_layers"])
        )
        self.ln = nn.LayerNorm(width)

    def embed(self, ids: Tensor, first: int = 0) -> Tensor:
        """ids [N, T] at positions first, first + 1, ... -> [N, T, C]."""
        return self.tok(ids) + self.pos.weight[first : first + ids.shape[1]]
