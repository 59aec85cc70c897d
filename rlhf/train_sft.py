"""Supervised fine-tuning: the reference policy, from demonstrations."""

import torch
from torch import Tensor

from .fit import Progress, fit
from .kernels import prepare_process
from .model import Policy, default_config, response_logprobs


def train_sft(
    prompts: Tensor,
    responses: Tensor,
    *,
    epochs: int = 12,
    lr: float = 3e-3,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Policy, list[float]]:
    """(policy, each epoch's loss in nats per token) from prompts [N, 6] and responses [N, 8]."""
    prepare_process()
    torch.manual_seed(seed)
    policy = Policy(default_config())

    def loss_of(rows: Tensor) -> Tensor:
        return -response_logprobs(policy, prompts[rows], responses[rows]).mean()

    losses = fit(policy, loss_of, len(prompts), epochs=epochs, lr=lr, seed=seed, progress=progress)
    return policy, losses
