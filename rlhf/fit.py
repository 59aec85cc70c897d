"""Supervised training on a fixed set of rows: AdamW on a one-cycle schedule."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

from .errors import ConfigError

Progress = Callable[[int, int], None]  # (epochs done, epochs in all)


def fit(
    model: nn.Module,
    loss_of: Callable[[Tensor], Tensor],
    n_rows: int,
    *,
    epochs: int,
    lr: float,
    seed: int,
    batch: int = 256,
    weight_decay: float = 0.01,
    progress: Progress | None = None,
) -> list[float]:
    """Minimise loss_of(row indices [b]) over shuffled minibatches; the mean loss of each epoch.

    `lr` is the schedule's peak. The same seed gives the same weights on one machine and thread
    count. Raises ConfigError if there is no row to learn from.
    """
    if n_rows == 0:
        raise ConfigError("there are no rows to train on")
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    steps_per_epoch = -(-n_rows // batch)
    schedule = OneCycleLR(optimiser, max_lr=lr, total_steps=max(2, epochs * steps_per_epoch))
    losses = []
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(n_rows, generator=generator).split(batch):
            loss = loss_of(rows)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(rows)
        losses.append(total / n_rows)
        if progress:
            progress(epoch + 1, epochs)
    model.eval()
    return losses
