"""The policy: a small causal transformer, its sampling and its log-probabilities.

A prompt is encoded once and its keys and values serve every response to it, when sampling and
when scoring alike. Only the 24 content tokens can be said, so only their logits are computed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import checkpoint
from .kernels import KEY_SLOTS, attend, causal_mask, linear
from .transformer import Block, KeyValues, Trunk
from .vocab import CONTENT_HI, CONTENT_LO, PROMPT_LEN, RESP_LEN, SEQ_LEN, TOKENS

NEVER = -1e9  # logit of every token that cannot be said
WEIGHTS = "policy.safetensors"
_COLDEST = 1e-30  # below, as at 0: logits divided by less may overflow
_ROWS = 512  # rows worked on at once when no gradient is kept: what stays in the cache


def default_config() -> dict[str, int]:
    """The shape of the policies that this project trains."""
    return {
        "vocab_size": len(TOKENS),
        "d_model": 64,
        "n_layers": 2,
        "n_heads": 4,
        "d_ff": 128,
        "seq_len": SEQ_LEN,
        "prompt_len": PROMPT_LEN,
        "resp_len": RESP_LEN,
    }


class Policy(Trunk):
    """A causal language model over the vocabulary. `cfg` holds its shape."""

    def __init__(self, cfg: Mapping[str, int]) -> None:
        super().__init__(checkpoint.checked_shape(cfg, default_config()))
        self.head = nn.Linear(self.cfg["d_model"], self.cfg["vocab_size"], bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [B, T], 1 <= T <= 14 -> logits [B, T, V]; all but content tokens are -1e9."""
        hidden, _ = self.run(ids)
        return F.pad(self.content_logits(hidden), (CONTENT_LO, 0), value=NEVER)

    def run(
        self, ids: Tensor, past: list[KeyValues] | None = None
    ) -> tuple[Tensor, list[KeyValues]]:
        """ids [N, T] after a past of P tokens -> hidden [N, T, C], their keys and values."""
        first = past[0][0].shape[2] if past else 0
        mask = causal_mask(first, ids.shape[1])
        x, now = self.embed(ids, first), []
        for index, block in enumerate(self.blocks):
            x, kept = block(x, mask, past[index] if past else None)
            now.append(kept)
        return x, now

    def content_logits(self, hidden: Tensor) -> Tensor:
        """hidden [..., C] -> logits [..., 24] of the content tokens."""
        return linear(self.ln(hidden), self.head.weight[CONTENT_LO:CONTENT_HI])


def load_policy(directory: str) -> tuple[Policy, dict[str, int]]:
    """(policy in eval mode, its cfg) of a folder. Raises CheckpointError; never random weights."""
    cfg = checkpoint.load_shape(directory, default_config())
    policy = Policy(cfg)
    checkpoint.load_weights(policy, directory, WEIGHTS)
    return policy.eval(), policy.cfg


def save_policy(policy: Policy, cfg: Mapping[str, int], directory: str) -> None:
    """Write policy.safetensors and config.json, each replaced atomically."""
    checkpoint.save_model(policy, cfg, directory, WEIGHTS)


class Groups(NamedTuple):
    """N rows whose prompts repeat in runs: the G distinct prompts, and each row's among them."""

    prompts: Tensor  # [G, 6]
    of_row: Tensor  # [N]


def group_rows(prompts_rep: Tensor) -> Groups:
    """prompts_rep [N, 6] -> its runs of equal prompts."""
    changed = (prompts_rep[1:] != prompts_rep[:-1]).any(1)
    first = torch.cat([changed.new_ones(min(1, len(prompts_rep))), changed])
    return Groups(prompts_rep[first], first.long().cumsum(0) - 1)


def response_logits(policy: Policy, prompts_rep: Tensor, responses: Tensor) -> Tensor:
    """Content logits [N, 8, 24] at the places where the response's tokens were chosen."""
    groups = group_rows(prompts_rep)
    hidden, past = policy.run(groups.prompts)
    past = [(k.index_select(0, groups.of_row), v.index_select(0, groups.of_row)) for k, v in past]
    rest, _ = policy.run(responses[:, :-1], past)
    chosen_at = torch.cat([hidden[:, -1:].index_select(0, groups.of_row), rest], 1)
    return policy.content_logits(chosen_at)


def response_logprobs(
    policy: Policy, prompts_rep: Tensor, responses: Tensor, with_entropy: bool = False
) -> Any:
    """Log-probabilities [N, 8] of the responses' tokens, in nats at temperature 1.

    prompts_rep [N, 6], responses [N, 8]. With `with_entropy` also the mean token entropy of
    each sequence, [N], detached.
    """
    log_p = response_logits(policy, prompts_rep, responses).log_softmax(-1)
    chosen = log_p.gather(-1, (responses - CONTENT_LO).unsqueeze(-1)).squeeze(-1)
    return (chosen, _mean_entropy(log_p.detach())) if with_entropy else chosen


def _mean_entropy(log_p: Tensor) -> Tensor:
    """log_p [N, 8, 24] -> entropy in nats, averaged over the 8 tokens: [N]."""
    return -(log_p.exp() * log_p).sum(-1).mean(-1)


def entropy(policy: Policy, prompts_rep: Tensor, responses: Tensor) -> Tensor:
    """Mean token entropy of the policy along each response, in nats: [N]."""
    return response_logprobs(policy, prompts_rep, responses, with_entropy=True)[1]


@torch.no_grad()
def sample(
    policy: Policy,
    prompts: Tensor,
    n_per_prompt: int = 1,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Responses [B*n, 8] to prompts [B, 6]; row i answers prompt i // n. Temperature 0 is argmax.

    One uniform number decides each token (inverse distribution function), so two policies given
    equally seeded generators meet the same chances.
    """
    if not temperature >= 0:
        raise ValueError(f"temperature must be at least 0, found {temperature}")
    N = len(prompts) * n_per_prompt
    chances = torch.rand(N, RESP_LEN, generator=generator)
    step = max(1, _ROWS // max(1, n_per_prompt))
    parts = [
        _sample_rows(policy, prompts[at : at + step], n_per_prompt, temperature, chances_part)
        for at, chances_part in zip(
            range(0, len(prompts), step), chances.split(step * n_per_prompt), strict=False
        )
    ]
    return torch.cat(parts) if parts else torch.empty(0, RESP_LEN, dtype=torch.long)


def _sample_rows(
    policy: Policy, prompts: Tensor, n: int, temperature: float, chances: Tensor
) -> Tensor:
    """As `sample`, for as many rows as are worked on at once; chances [N, 8] in [0, 1)."""
    hidden, past = policy.run(prompts)
    hidden = hidden[:, -1:].repeat_interleave(n, 0)
    cache = [_cache(k, v, n) for k, v in past]
    tokens = torch.empty(len(chances), RESP_LEN, dtype=torch.long)
    for at in range(RESP_LEN):
        if at:
            hidden = _extend(policy, tokens[:, at - 1 : at], PROMPT_LEN + at - 1, cache)
        logits = policy.content_logits(hidden[:, 0])
        tokens[:, at] = CONTENT_LO + choose(logits, temperature, chances[:, at])
    return tokens


def _cache(k: Tensor, v: Tensor, n: int) -> KeyValues:
    """Room for a whole sequence's keys and values [B*n, H, KEY_SLOTS, D], begun with k and v.

    Values lie in memory with the slots innermost: a single query's product with them is faster.
    """
    B, H, P, D = k.shape
    keys = k.new_zeros(B * n, H, KEY_SLOTS, D)
    values = v.new_zeros(B * n, H, D, KEY_SLOTS).transpose(2, 3)
    keys[:, :, :P], values[:, :, :P] = k.repeat_interleave(n, 0), v.repeat_interleave(n, 0)
    return keys, values


def _extend(policy: Policy, ids: Tensor, position: int, cache: list[KeyValues]) -> Tensor:
    """Hidden [N, 1, C] of one more token ids [N, 1]; its keys and values enter the cache."""
    x, mask = policy.embed(ids, position), causal_mask(position, 1)
    for block, (keys, values) in zip(cast(list[Block], policy.blocks), cache, strict=True):
        q, k, v = block.attn.project(block.ln1(x))
        keys[:, :, position], values[:, :, position] = k[:, :, 0], v[:, :, 0]
        x = block.finish(x, attend(q, keys, values, mask))
    return x


def choose(logits: Tensor, temperature: float, chance: Tensor) -> Tensor:
    """logits [N, K] -> the index [N] at which the distribution function passes chance [N]."""
    if temperature < _COLDEST:
        return logits.argmax(-1)
    below = (logits / temperature).softmax(-1).cumsum(-1)
    passed = below <= chance.unsqueeze(-1) * below[:, -1:]
    return passed.sum(-1).clamp(max=logits.shape[-1] - 1)
