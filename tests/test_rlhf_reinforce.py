"""The arithmetic by hand, the gradient by finite differences, the step by its plain form."""

import plain_step as plain
import pytest
import torch

from rlhf.model import Policy, response_logprobs, sample
from rlhf.reinforce import group_advantage, policy_loss, sequence_kl, shaped_reward
from rlhf.reward_model import RewardModel, score
from rlhf.runfolder import State
from rlhf.train_rl import update

PROMPTS = torch.tensor([[2, 8, 9, 10, 11, 1], [5, 15, 14, 13, 12, 1]])


def test_sequence_kl_by_hand() -> None:
    logp = torch.tensor([[-1.0, -2.0], [-0.5, -0.25]])
    ref_logp = torch.tensor([[-1.5, -1.0], [-1.0, -1.0]])
    assert sequence_kl(logp, ref_logp).tolist() == [0.5 - 1.0, 0.5 + 0.75]


def test_shaped_reward_by_hand() -> None:
    shaped = shaped_reward(torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0]), 0.5)
    assert shaped.tolist() == [1 - 1.5, 2 + 2.0]


def test_group_advantage_by_hand() -> None:
    """Groups (1, 3) and (10, 0): means 2 and 5."""
    advantage = group_advantage(torch.tensor([1.0, 3.0, 10.0, 0.0]), n=2)
    assert advantage.tolist() == [-1.0, 1.0, 5.0, -5.0]


def test_policy_loss_by_hand() -> None:
    """-(1 * (-3) + (-2) * (-1)) / 2 = 0.5"""
    logp = torch.tensor([[-1.0, -2.0], [-0.5, -0.5]])
    assert policy_loss(torch.tensor([1.0, -2.0]), logp).item() == 0.5


def test_loss_gradient_against_finite_differences(small_policy: Policy) -> None:
    policy = small_policy.double()
    prompts_rep = PROMPTS.repeat_interleave(3, 0)
    responses = torch.randint(16, 40, (6, 8), generator=torch.Generator().manual_seed(0))
    advantage = torch.tensor([1.0, -0.5, 2.0, -1.0, 0.25, 0.75], dtype=torch.float64)

    def loss() -> torch.Tensor:
        return policy_loss(advantage, response_logprobs(policy, prompts_rep, responses))

    loss().backward()
    eps = 1e-6
    for name, parameter in policy.named_parameters():
        flat, grad = parameter.data.view(-1), parameter.grad.view(-1)
        for index in {0, len(flat) // 2, int(grad.abs().argmax())}:
            before = flat[index].item()
            flat[index] = before + eps
            above = loss().item()
            flat[index] = before - eps
            below = loss().item()
            flat[index] = before
            expected = (above - below) / (2 * eps)
            assert grad[index].item() == pytest.approx(expected, rel=1e-5, abs=1e-7), name


def test_one_step_equals_the_plain_step(reference: Policy, rm: RewardModel, tmp_path) -> None:
    """Same samples: same loss, same KL, same clipped gradient (taken whole, as SGD does)."""
    policy = Policy(reference.cfg)
    policy.load_state_dict(reference.state_dict())
    policy.head.weight.data += 0.05 * torch.randn(
        40, 64, generator=torch.Generator().manual_seed(2)
    )
    n = 4
    responses = sample(policy, PROMPTS, n, generator=torch.Generator().manual_seed(0))
    prompts_rep = PROMPTS.repeat_interleave(n, 0)
    plain_policy = plain.PlainTransformer(policy.state_dict(), 4, causal=True)
    plain_result = plain.update(
        plain_policy,
        plain.PlainTransformer(reference.state_dict(), 4, causal=True),
        plain.PlainTransformer(rm.state_dict(), 4, causal=False),
        torch.optim.SGD(plain_policy.parameters(), 1.0),
        prompts_rep,
        responses,
        n,
        kl_coef=0.3,
    )
    with torch.no_grad():
        ref_logp = response_logprobs(reference, prompts_rep, responses)
    logp = response_logprobs(policy, prompts_rep, responses)
    kl = sequence_kl(logp.detach(), ref_logp)
    shaped = shaped_reward(score(rm, prompts_rep, responses), kl, 0.3)
    loss = policy_loss(group_advantage(shaped, n), logp)
    update(State(policy, torch.optim.SGD(policy.parameters(), 1.0)), loss, 1.0)  # type: ignore[arg-type]
    assert kl.mean().item() == pytest.approx(plain_result["kl"], abs=1e-5)
    assert loss.item() == pytest.approx(plain_result["loss"], abs=1e-5)
    for name, parameter in policy.named_parameters():
        torch.testing.assert_close(parameter, plain_policy.w(name), atol=2e-6, rtol=0, msg=name)
