"""The training step in its plainest form: the bench's yardstick and the tests' oracle.

Full re-forward for every sampled token, all 40 logits, scaled_dot_product_attention, nn.Linear
arithmetic, no shared prompts. Not tuned. It takes the weights of rlhf's models by name.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LO, HI, PROMPT, RESPONSE, NEVER = 16, 40, 6, 8, -1e9


class PlainTransformer(nn.Module):
    """Policy (causal) or reward model, by what its state dict holds."""

    def __init__(self, state: dict[str, Tensor], n_heads: int, causal: bool) -> None:
        super().__init__()
        self.n_heads, self.causal = n_heads, causal
        self.n_layers = 1 + max(int(key.split(".")[1]) for key in state if key.startswith("blocks"))
        self.weights = nn.ParameterDict(
            {key.replace(".", "/"): nn.Parameter(value.clone()) for key, value in state.items()}
        )

    def w(self, key: str) -> Tensor:
        return self.weights[key.replace(".", "/")]

    def norm(self, x: Tensor, key: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.w(f"{key}.weight"), self.w(f"{key}.bias"))

    def lin(self, x: Tensor, key: str) -> Tensor:
        return F.linear(x, self.w(f"{key}.weight"), self.w(f"{key}.bias"))

    def block(self, x: Tensor, name: str) -> Tensor:
        B, T, C = x.shape
        qkv = self.lin(self.norm(x, f"{name}.ln1"), f"{name}.attn.qkv")
        q, k, v = (
            part.view(B, T, self.n_heads, -1).transpose(1, 2) for part in qkv.split(C, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.lin(y.transpose(1, 2).reshape(B, T, C), f"{name}.attn.out")
        h = F.gelu(self.lin(self.norm(x, f"{name}.ln2"), f"{name}.ff.0"))
        return x + self.lin(h, f"{name}.ff.2")

    def trunk(self, ids: Tensor) -> Tensor:
        x = F.embedding(ids, self.w("tok.weight")) + self.w("pos.weight")[: ids.shape[1]]
        for index in range(self.n_layers):
            x = self.block(x, f"blocks.{index}")
        return self.norm(x, "ln")

    def logits(self, ids: Tensor) -> Tensor:
        out = F.linear(self.trunk(ids), self.w("head.weight"))
        mask = torch.full((out.shape[-1],), NEVER)
        mask[LO:HI] = 0
        return out.masked_fill(mask < 0, NEVER)

    def reward(self, ids: Tensor) -> Tensor:
        h = F.gelu(self.lin(self.trunk(ids).mean(1), "head.0"))
        return self.lin(h, "head.2").squeeze(-1)


@torch.no_grad()
def sample(policy: PlainTransformer, prompts_rep: Tensor, generator: torch.Generator) -> Tensor:
    ids = prompts_rep
    for _ in range(RESPONSE):
        p = policy.logits(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(p, 1, generator=generator)], 1)
    return ids[:, PROMPT:]


def logprobs(policy: PlainTransformer, prompts_rep: Tensor, responses: Tensor) -> Tensor:
    ids = torch.cat([prompts_rep, responses], 1)
    log_p = policy.logits(ids[:, :-1])[:, PROMPT - 1 :].log_softmax(-1)
    return log_p.gather(-1, responses.unsqueeze(-1)).squeeze(-1)


def update(
    policy: PlainTransformer,
    reference: PlainTransformer,
    rm: PlainTransformer,
    optimiser: torch.optim.Optimizer,
    prompts_rep: Tensor,
    responses: Tensor,
    n: int,
    kl_coef: float,
) -> dict[str, Any]:
    with torch.no_grad():
        raw = rm.reward(torch.cat([prompts_rep, responses], 1))
        reference_logp = logprobs(reference, prompts_rep, responses).sum(1)
    logp = logprobs(policy, prompts_rep, responses).sum(1)
    kl = (logp - reference_logp).detach()
    shaped = raw - kl_coef * kl
    advantage = shaped - shaped.view(-1, n).mean(1).repeat_interleave(n)
    loss = -(advantage * logp).mean()
    optimiser.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimiser.step()
    return {
        "loss": loss.item(),
        "kl": kl.mean().item(),
        "proxy": raw.mean().item(),
        "norm": float(norm),
    }


def step(
    policy: PlainTransformer,
    reference: PlainTransformer,
    rm: PlainTransformer,
    optimiser: torch.optim.Optimizer,
    prompts: Tensor,
    n: int,
    kl_coef: float,
    generator: torch.Generator,
) -> dict[str, Any]:
    prompts_rep = prompts.repeat_interleave(n, 0)
    responses = sample(policy, prompts_rep, generator)
    return update(policy, reference, rm, optimiser, prompts_rep, responses, n, kl_coef)
