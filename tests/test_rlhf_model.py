"""The fast paths give what the plain ones give."""

import math

import plain_step as plain
import pytest
import torch

from rlhf import kernels
from rlhf.data import prompts_tensor, read_jsonl
from rlhf.model import (
    Policy,
    choose,
    default_config,
    entropy,
    load_policy,
    response_logits,
    response_logprobs,
    sample,
    save_policy,
)
from rlhf.reward_model import RewardModel, load_rm, save_rm, score
from rlhf.reward_model import default_config as rm_config


@pytest.fixture(scope="module")
def prompts() -> torch.Tensor:
    from conftest import TASK

    return prompts_tensor(read_jsonl(TASK / "data" / "prompts_dev.jsonl")[:24])


@pytest.fixture(scope="module")
def responses(reference: Policy, prompts: torch.Tensor) -> torch.Tensor:
    return sample(reference, prompts, 4, generator=torch.Generator().manual_seed(1))


def test_only_content_tokens_can_be_said(reference: Policy, prompts: torch.Tensor) -> None:
    logits = reference(prompts)
    assert logits.shape == (24, 6, 40)
    assert (logits[..., :16] == -1e9).all()
    assert (logits[..., 16:] > -1e3).all()


@pytest.mark.parametrize("length", range(1, 15))
def test_any_length_is_the_prefix_of_a_longer_one(
    reference: Policy, prompts: torch.Tensor, responses: torch.Tensor, length: int
) -> None:
    ids = torch.cat([prompts.repeat_interleave(4, 0), responses], 1)
    torch.testing.assert_close(
        reference(ids[:, :length]), reference(ids)[:, :length], atol=1e-5, rtol=1e-5
    )


def test_plain_transformer_agrees_at_every_position(
    reference: Policy, rm: RewardModel, prompts: torch.Tensor, responses: torch.Tensor
) -> None:
    ids = torch.cat([prompts.repeat_interleave(4, 0), responses], 1)
    policy = plain.PlainTransformer(reference.state_dict(), 4, causal=True)
    judge = plain.PlainTransformer(rm.state_dict(), 4, causal=False)
    torch.testing.assert_close(reference(ids), policy.logits(ids), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(rm(ids), judge.reward(ids), atol=1e-5, rtol=1e-5)


def test_cached_and_plain_logits_agree_at_every_position(
    reference: Policy, prompts: torch.Tensor, responses: torch.Tensor
) -> None:
    prompts_rep = prompts.repeat_interleave(4, 0)
    full = reference(torch.cat([prompts_rep, responses], 1))[:, 5:13, 16:]
    cached = response_logits(reference, prompts_rep, responses)
    torch.testing.assert_close(cached, full, atol=1e-5, rtol=1e-5)


def test_sampling_follows_the_scored_probabilities(
    reference: Policy, prompts: torch.Tensor
) -> None:
    """Sampling's own cache chooses just the tokens that the scored logits choose."""
    chances = torch.rand(96, 8, generator=torch.Generator().manual_seed(5))
    drawn = sample(reference, prompts, 4, generator=torch.Generator().manual_seed(5))
    logits = response_logits(reference, prompts.repeat_interleave(4, 0), drawn)
    expected = torch.stack([choose(logits[:, t], 1.0, chances[:, t]) for t in range(8)], 1) + 16
    assert (
        drawn == expected
    ).float().mean() > 0.995  # a chance may fall within rounding of a bound


def test_argmax_at_temperature_zero(reference: Policy, prompts: torch.Tensor) -> None:
    drawn = sample(reference, prompts, temperature=0)
    assert torch.equal(drawn, response_logits(reference, prompts, drawn).argmax(-1) + 16)


def test_sample_rows_belong_to_their_prompts(reference: Policy, prompts: torch.Tensor) -> None:
    drawn = sample(reference, prompts[:2], 3, temperature=0)
    single = sample(reference, prompts[:2], 1, temperature=0)
    assert torch.equal(drawn, single.repeat_interleave(3, 0))


def test_sampling_has_the_policy_distribution(reference: Policy, prompts: torch.Tensor) -> None:
    """Frequencies of the first token over 20,000 samples, within five standard errors."""
    n = 20_000
    drawn = sample(reference, prompts[:1], n, generator=torch.Generator().manual_seed(0))
    p = response_logits(reference, prompts[:1], drawn[:1])[0, 0].softmax(-1)
    seen = torch.bincount(drawn[:, 0] - 16, minlength=24) / n
    assert ((seen - p).abs() <= 5 * (p * (1 - p) / n).sqrt() + 1e-4).all()


def test_temperature_sharpens_but_logprobs_stay_at_one(
    reference: Policy, prompts: torch.Tensor
) -> None:
    def mean_logp(temperature: float) -> float:
        drawn = sample(reference, prompts, 64, temperature, torch.Generator().manual_seed(0))
        return response_logprobs(reference, prompts.repeat_interleave(64, 0), drawn).mean().item()

    assert mean_logp(0.5) > mean_logp(1.0) + 0.2 > mean_logp(2.0) + 0.4


def test_choose_by_hand() -> None:
    """Probabilities 1/2, 1/4, 1/4: the distribution function passes at 0.5 and 0.75."""
    logits = torch.tensor([[2.0, 1.0, 1.0]]).log().repeat(5, 1)
    chances = torch.tensor([0.0, 0.49, 0.51, 0.76, 0.999999])
    assert choose(logits, 1.0, chances).tolist() == [0, 0, 1, 2, 2]


def test_entropy_by_hand() -> None:
    """A policy with zero weights is uniform over 24 tokens: log 24 nats a token."""
    policy = Policy(default_config())
    for parameter in policy.parameters():
        parameter.data.zero_()
    prompts, responses = torch.tensor([[2, 8, 8, 8, 8, 1]]), torch.full((1, 8), 20)
    assert entropy(policy, prompts, responses).item() == pytest.approx(math.log(24), rel=1e-6)
    logp = response_logprobs(policy, prompts, responses)
    torch.testing.assert_close(logp, torch.full((1, 8), -math.log(24)))


def test_rows_do_not_depend_on_their_neighbours(
    reference: Policy, rm: RewardModel, prompts: torch.Tensor, responses: torch.Tensor
) -> None:
    prompts_rep, order = prompts.repeat_interleave(4, 0), torch.randperm(96)
    logp = response_logprobs(reference, prompts_rep, responses)
    shuffled = response_logprobs(reference, prompts_rep[order], responses[order])
    torch.testing.assert_close(shuffled, logp[order], atol=1e-5, rtol=1e-5)
    scores = score(rm, prompts_rep, responses)
    for bs in (1, 7, 96, 4096):
        torch.testing.assert_close(
            score(rm, prompts_rep, responses, bs=bs), scores, atol=1e-5, rtol=1e-5
        )


def test_no_rows_give_no_rows(reference: Policy, rm: RewardModel) -> None:
    no_prompts, no_responses = prompts_tensor([]), torch.empty(0, 8, dtype=torch.long)
    assert no_prompts.shape == (0, 6) and no_prompts.dtype == torch.long
    assert sample(reference, no_prompts, 4).shape == (0, 8)
    assert score(rm, no_prompts, no_responses).shape == (0,)
    assert response_logprobs(reference, no_prompts, no_responses).shape == (0, 8)


def test_same_seed_same_samples(reference: Policy, prompts: torch.Tensor) -> None:
    def drawn(seed: int) -> torch.Tensor:
        return sample(reference, prompts, 4, generator=torch.Generator().manual_seed(seed))

    assert torch.equal(drawn(0), drawn(0))
    assert not torch.equal(drawn(0), drawn(1))


def test_saved_and_loaded_models_score_the_same(
    reference: Policy, rm: RewardModel, prompts: torch.Tensor, responses: torch.Tensor, tmp_path
) -> None:
    save_policy(reference, reference.cfg, str(tmp_path / "p"))
    save_rm(rm, rm.cfg, str(tmp_path / "r"))
    again, cfg = load_policy(str(tmp_path / "p"))
    prompts_rep = prompts.repeat_interleave(4, 0)
    assert cfg == reference.cfg and not again.training
    assert torch.equal(
        response_logprobs(again, prompts_rep, responses),
        response_logprobs(reference, prompts_rep, responses),
    )
    rm_again, _ = load_rm(str(tmp_path / "r"))
    assert torch.equal(score(rm_again, prompts_rep, responses), score(rm, prompts_rep, responses))


@pytest.mark.parametrize("fast", [True, False], ids=["as installed", "without oneDNN"])
@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 7, 2), (0, 3, 4)])
def test_linear_and_its_gradients(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], fast: bool
) -> None:
    if not fast:
        monkeypatch.setattr(kernels, "_onednn", None)
    M, inputs, outputs = shape
    torch.manual_seed(0)
    ours = [
        torch.randn(s, requires_grad=True) for s in ((M, inputs), (outputs, inputs), (outputs,))
    ]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    y, expected = kernels.linear(*ours), torch.nn.functional.linear(*theirs)
    torch.testing.assert_close(y, expected)
    (y.sin().sum()).backward()
    (expected.sin().sum()).backward()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


def test_attention_by_hand() -> None:
    """One head of width 1, keys 0 and log 3 (scaled by 1): weights 1/4 and 3/4."""
    q = torch.ones(1, 1, 1, 1)
    k = kernels.in_slots(torch.tensor([0.0, math.log(3), 50.0]).view(1, 1, 3, 1))
    v = kernels.in_slots(torch.tensor([4.0, 8.0, 1e6]).view(1, 1, 3, 1))
    mixed = kernels.attend(q, k, v, kernels.causal_mask(1, 1))
    assert mixed.item() == pytest.approx(4 / 4 + 8 * 3 / 4, rel=1e-6)


@pytest.mark.parametrize("temperature", [-1.0, math.nan])
def test_a_temperature_below_zero_is_an_error(
    reference: Policy, prompts: torch.Tensor, temperature: float
) -> None:
    with pytest.raises(ValueError, match="temperature must be at least 0"):
        sample(reference, prompts, 1, temperature)


def test_the_coldest_temperatures_are_argmax(reference: Policy, prompts: torch.Tensor) -> None:
    frozen = sample(reference, prompts, 2, temperature=0)
    for temperature in (1e-6, 1e-25, 1e-39, 1e-300):
        assert torch.equal(sample(reference, prompts, 2, temperature), frozen)


def test_scores_are_float32_whatever_the_model_and_bs_must_be_positive(
    prompts: torch.Tensor,
) -> None:
    judge = RewardModel({**rm_config(), "d_model": 8, "n_heads": 2}).double()
    said = torch.full((len(prompts), 8), 16)
    assert score(judge, prompts, said).dtype == torch.float32
    with pytest.raises(ValueError, match="bs"):
        score(judge, prompts, said, bs=0)


def test_second_derivatives_are_torch_s(small_policy: Policy, prompts: torch.Tensor) -> None:
    """oneDNN's product has none: a gradient of gradients must not silently miss a part."""
    said = torch.full((len(prompts), 8), 20)

    def curvature(policy: Policy) -> torch.Tensor:
        loss, weights = response_logprobs(policy, prompts, said).mean(), policy.head.weight
        (first,) = torch.autograd.grad(loss, weights, create_graph=True)
        (second,) = torch.autograd.grad(
            first.square().sum(), policy.get_parameter("blocks.0.attn.qkv.weight")
        )
        return second.double()

    single = curvature(small_policy)
    torch.testing.assert_close(single, curvature(small_policy.double()), atol=1e-5, rtol=1e-3)
