"""The means that a training run logs, accumulated between two rows of its log."""

import torch
from torch import Tensor

from .vocab import FAMILIES

OVERALL = ("proxy_reward", "kl", "shaped_reward", "entropy", "loss")
BY_FAMILY = ("n", "proxy_reward", "kl")


class Window:
    """Sums since the last log row, exact in float64, as one vector that a checkpoint can hold."""

    def __init__(self, sums: Tensor | None = None) -> None:
        size = 1 + len(OVERALL) + len(BY_FAMILY) * len(FAMILIES)
        self.sums = torch.zeros(size, dtype=torch.float64) if sums is None else sums

    def add(
        self,
        families: Tensor,
        *,
        proxy_reward: Tensor,
        kl: Tensor,
        shaped_reward: Tensor,
        entropy: Tensor,
        loss: Tensor,
    ) -> None:
        """One step: everything [N] but the loss; families are indices into FAMILIES."""
        rows = torch.stack([torch.ones_like(proxy_reward), proxy_reward, kl]).double()
        by_family = torch.zeros(len(BY_FAMILY), len(FAMILIES), dtype=torch.float64)
        by_family.index_add_(1, families, rows)
        overall = [proxy_reward.mean(), kl.mean(), shaped_reward.mean(), entropy.mean(), loss]
        step = torch.stack([torch.ones(()), *overall]).double()
        self.sums = self.sums + torch.cat([step, by_family.flatten()])

    def row(self) -> dict[str, object]:
        """Means over the steps since the last row; a family without samples has null means."""
        steps, *overall = self.sums[: 1 + len(OVERALL)].tolist()
        means = dict(zip(OVERALL, (_rounded(total / steps) for total in overall), strict=True))
        by_family = self.sums[1 + len(OVERALL) :].view(len(BY_FAMILY), len(FAMILIES)).t().tolist()
        return {**means, "families": dict(zip(FAMILIES, map(_family_row, by_family), strict=True))}


def _family_row(sums: list[float]) -> dict[str, object]:
    n, *totals = sums
    means = [_rounded(total / n) if n else None for total in totals]
    return {"n": int(n), **dict(zip(BY_FAMILY[1:], means, strict=True))}


def _rounded(value: float) -> float:
    return round(value, 6)
