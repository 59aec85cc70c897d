"""The arithmetic of KL-regularised REINFORCE with a group-mean baseline, as pure functions.

REINFORCE: Williams 1992. KL control against a reference: Jaques et al. 2017.
"""

from torch import Tensor


def sequence_kl(logp: Tensor, ref_logp: Tensor) -> Tensor:
    """Per-sequence k1 estimate in nats: sum over tokens of log pi - log pi_ref; [N, L] -> [N]."""
    return (logp - ref_logp).sum(-1)


def shaped_reward(rewards: Tensor, kl: Tensor, kl_coef: float) -> Tensor:
    """Rewards [N] less the KL penalty: r - kl_coef * kl."""
    return rewards - kl_coef * kl


def group_advantage(shaped: Tensor, n: int) -> Tensor:
    """Shaped rewards [B*n] less the mean of each prompt's group of n: [B*n]."""
    groups = shaped.view(-1, n)
    return (groups - groups.mean(1, keepdim=True)).view(-1)


def policy_loss(advantage: Tensor, logp: Tensor) -> Tensor:
    """-mean over rows of advantage [N] * sum over tokens of log pi [N, L]."""
    return -(advantage * logp.sum(-1)).mean()
