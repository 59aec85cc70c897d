"""The reward model: the policy's block without the causal mask, one number per response."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from . import checkpoint
from .kernels import Linear, full_mask
from .transformer import Trunk
from .vocab import SEQ_LEN, TOKENS

WEIGHTS = "rm.safetensors"
_ROWS = 256  # rows scored at once: what stays in the cache


def default_config() -> dict[str, int]:
    """The shape of the reward models that this project trains."""
    return {
        "vocab_size": len(TOKENS),
        "d_model": 96,
        "n_layers": 2,
        "n_heads": 4,
        "d_ff": 192,
        "seq_len": SEQ_LEN,
    }


class RewardModel(Trunk):
    """A bidirectional transformer with a regression head. `cfg` holds its shape."""

    def __init__(self, cfg: Mapping[str, int]) -> None:
        super().__init__(checkpoint.checked_shape(cfg, default_config()))
        width = self.cfg["d_model"]
        self.head = nn.Sequential(Linear(width, width), nn.GELU(), Linear(width, 1))

    def forward(self, ids: Tensor) -> Tensor:
        """ids [N, 14] (prompt, then response) -> rewards [N]."""
        x, mask = self.embed(ids), full_mask(ids.shape[1])
        for block in self.blocks:
            x, _ = block(x, mask)
        return self.head(self.ln(x).mean(1)).squeeze(-1)


def load_rm(directory: str) -> tuple[RewardModel, dict[str, int]]:
    """(reward model in eval mode, its cfg) of a folder. Raises CheckpointError."""
    rm = RewardModel(checkpoint.load_shape(directory, default_config()))
    checkpoint.load_weights(rm, directory, WEIGHTS)
    return rm.eval(), rm.cfg


def save_rm(rm: RewardModel, cfg: Mapping[str, int], directory: str) -> None:
    """Write rm.safetensors and config.json, each replaced atomically."""
    checkpoint.save_model(rm, cfg, directory, WEIGHTS)


@torch.no_grad()
def score(rm: RewardModel, prompts_rep: Tensor, responses: Tensor, bs: int = 4096) -> Tensor:
    """Rewards float32 [N] of responses [N, 8] to prompts_rep [N, 6], at most bs rows at a time."""
    if bs < 1:
        raise ValueError(f"bs must be at least 1, found {bs}")
    ids = torch.cat([prompts_rep, responses], 1)
    parts = [rm(part) for part in ids.split(min(bs, _ROWS))] if len(ids) else []
    return torch.cat(parts).float() if parts else torch.empty(0)
