"""The training step and its parts, against the plain step and against their arithmetic."""

from typing import Any

import torch
import torch.nn.functional as F
from measure import interleaved, middle, ratio
from trainings import N_STEPS, Ours, Plain

from rlhf.model import default_config, response_logprobs, sample
from rlhf.reward_model import default_config as rm_config
from rlhf.reward_model import score


def training_step(ours: Ours, reference: Plain) -> dict[str, Any]:
    times = interleaved({"plain": (reference.step, 8), "ours": (ours.steps, 1)})
    times["ours"] = [t / N_STEPS for t in times["ours"]]
    torch.set_num_threads(2)
    two_threads = interleaved({"plain": (reference.step, 8)}, blocks=3)["plain"]
    torch.set_num_threads(1)
    return {
        "plain_ms": 1e3 * middle(times["plain"]),
        "plain_two_threads_ms": 1e3 * middle(two_threads),
        "ours_ms": 1e3 * middle(times["ours"]),
        "times_as_fast": ratio(times["plain"], times["ours"]),
    }


def parts(ours: Ours) -> dict[str, Any]:
    """Each part of the step against its arithmetic at the speed of a 1792x96x288 linear layer."""
    policy, reference, rm, pool, *_ = ours.inputs
    drawn = pool.draw(16, torch.Generator().manual_seed(1))
    prompts, n = pool.prompts[drawn], 8
    prompts_rep, responses = prompts.repeat_interleave(n, 0), sample(policy, prompts, n)
    x, weight, bias = torch.randn(1792, 96), torch.randn(288, 96), torch.randn(288)

    def refer() -> None:
        with torch.no_grad():
            response_logprobs(reference, prompts_rep, responses)

    def forward_backward() -> None:
        ours.state.optimiser.zero_grad()
        response_logprobs(policy, prompts_rep, responses).sum().backward()

    def clip_and_step() -> None:
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e-9)
        ours.state.optimiser.step()

    times = interleaved(
        {
            "linear": (lambda: F.linear(x, weight, bias), 20),
            "sampling": (lambda: sample(policy, prompts, n), 4),
            "reward model": (lambda: score(rm, prompts_rep, responses), 4),
            "reference": (refer, 4),
            "policy forward and backward": (forward_backward, 4),
            "optimiser": (clip_and_step, 20),
        }
    )
    speed = 2 * 1792 * 96 * 288 / middle(times.pop("linear"))  # FLOP/s
    forward = policy_flop(default_config(), 16, 128)
    work = {
        "sampling": forward,
        "reward model": rm_flop(rm_config(), 128),
        "reference": forward,
        "policy forward and backward": 3 * forward,
        "optimiser": 0.0,
    }
    rows = {
        name: {
            "ms": 1e3 * middle(spent),
            "gflop": work[name] / 1e9,
            "ms_at_linear_speed": 1e3 * work[name] / speed,
        }
        for name, spent in times.items()
    }
    return {"linear_gflop_s": speed / 1e9, "parts": rows}


def block_flop(width: int, hidden: int, rows: int, keys: int) -> float:
    """Multiply-adds count two: four projections, two feed-forward layers, scores and mixing."""
    return 2.0 * rows * (4 * width * width + 2 * width * hidden + 2 * keys * width)


def policy_flop(cfg: dict[str, int], B: int, N: int) -> float:
    width, hidden = cfg["d_model"], cfg["d_ff"]
    prompt, response = block_flop(width, hidden, 6 * B, 6), block_flop(width, hidden, 7 * N, 13)
    return cfg["n_layers"] * (prompt + response) + 2.0 * (N * 7 + B) * width * 24


def rm_flop(cfg: dict[str, int], N: int) -> float:
    width = cfg["d_model"]
    return cfg["n_layers"] * block_flop(width, cfg["d_ff"], 14 * N, 14) + 2.0 * N * width * width
