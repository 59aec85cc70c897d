"""Speed of the pipeline: prints ratios measured in one run, and writes them as JSON.

python tests/bench/bench_lab.py [--task DIR] [--out bench.json]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import plain_step as plain
import torch
import torch.nn.functional as F
from measure import BLOCKS, interleaved, middle, ratio
from torch import Tensor

from rlhf.config import RLConfig, resolve
from rlhf.data import load_prompts, prompts_tensor
from rlhf.evaluate import Models, collect
from rlhf.inputs import Inputs, load_inputs
from rlhf.kernels import prepare_process
from rlhf.model import Policy, default_config, response_logprobs, sample
from rlhf.reward_model import RewardModel, score
from rlhf.reward_model import default_config as rm_config
from rlhf.runfolder import State
from rlhf.train_rl import optimise

ROOT = Path(__file__).resolve().parents[2]
N_STEPS = 20


class Ours:
    """The library's training loop, a few steps at a time."""

    def __init__(self, out: Path) -> None:
        self.config = RLConfig(**resolve({"log_every": 10**9}))
        self.inputs: Inputs = load_inputs(self.config, None)
        adam = torch.optim.Adam(self.inputs.policy.parameters(), self.config.lr, fused=True)
        self.state, self.out = State(self.inputs.policy, adam), out

    def steps(self, count: int = N_STEPS) -> None:
        until = replace(self.config, steps=self.state.step + count)
        optimise(until, self.inputs, self.state, self.out, lambda: None, quiet=True)


class Plain:
    """The same step in its plainest form, on the same weights."""

    def __init__(self, inputs: Inputs) -> None:
        self.policy = plain.PlainTransformer(inputs.policy.state_dict(), 4, causal=True)
        self.reference = plain.PlainTransformer(inputs.reference.state_dict(), 4, causal=True)
        self.rm = plain.PlainTransformer(inputs.rm.state_dict(), 4, causal=False)
        self.adam = torch.optim.Adam(self.policy.parameters(), 3e-4)
        self.pool, self.generator = inputs.pool, torch.Generator().manual_seed(0)

    def step(self) -> None:
        prompts = self.pool.prompts[self.pool.draw(16, self.generator)]
        plain.step(self.policy, self.reference, self.rm, self.adam, prompts, 8, 0.1, self.generator)


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


def evaluation(ours: Ours, step_s: float) -> dict[str, Any]:
    """12,000 samples of one checkpoint: sampled, scored, with their KL."""
    models = Models(ours.inputs.policy, ours.inputs.reference, ours.inputs.rm)
    prompts = prompts_tensor(load_prompts(ours.config.prompt_file))[::3]
    generator = torch.Generator()
    times = interleaved({"eval": (lambda: collect(models, prompts, 4, generator), 1)}, blocks=3)
    spent = middle(times["eval"])
    return {"samples": len(prompts) * 4, "seconds": spent, "training_steps": spent / step_s}


def epochs(ours: Ours) -> dict[str, Any]:
    """Minibatches of 256 of reward-model and supervised training, against the plain models."""
    torch.manual_seed(0)
    policy, rm = Policy(default_config()), RewardModel(rm_config())
    plain_policy = plain.PlainTransformer(policy.state_dict(), 4, causal=True)
    plain_rm = plain.PlainTransformer(rm.state_dict(), 4, causal=False)
    prompts = ours.inputs.pool.prompts[torch.randperm(9000)[:256]]
    responses = sample(ours.inputs.policy, prompts)
    ids, labels = torch.cat([prompts, responses], 1), torch.randn(256)

    def minibatch(model: torch.nn.Module, loss_of: Any) -> tuple[Any, int]:
        adam = torch.optim.AdamW(
            model.parameters(), 1e-3, fused=not isinstance(model, plain.PlainTransformer)
        )

        def run() -> None:
            adam.zero_grad()
            loss_of().backward()
            adam.step()

        return run, 3

    def mse(rewards: Tensor) -> Tensor:
        return (rewards - labels).square().mean()

    times = interleaved(
        {
            "sft": minibatch(policy, lambda: -response_logprobs(policy, prompts, responses).mean()),
            "sft plain": minibatch(
                plain_policy, lambda: -plain.logprobs(plain_policy, prompts, responses).mean()
            ),
            "rm": minibatch(rm, lambda: mse(rm(ids))),
            "rm plain": minibatch(plain_rm, lambda: mse(plain_rm.reward(ids))),
        }
    )
    return {
        name: {
            "epoch_rows": rows,
            "epoch_s": middle(times[name]) * rows / 256,
            "times_as_fast": ratio(times[f"{name} plain"], times[name]),
        }
        for name, rows in (("sft", 36_000), ("rm", 12_000))
    }


def worker(out: Path) -> None:
    """Train 40 steps whenever a line arrives on stdin; answer with the seconds."""
    ours = Ours(out)
    ours.steps(10)
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        ours.steps(40)
        print(time.perf_counter() - began, flush=True)


def side_by_side(folder: Path) -> dict[str, Any]:
    """Throughput of two trainings at once over that of one."""
    command = [sys.executable, __file__, "--worker"]
    workers = [
        subprocess.Popen(
            [*command, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for each in workers:
            _answer(each)
        gains = [_pair_gain(workers) for _ in range(BLOCKS)]
    finally:
        for each in workers:
            each.kill()
            each.wait()
    return {"times_the_throughput_of_one": median(gains)}


def _pair_gain(workers: list[subprocess.Popen[str]]) -> float:
    solo = _timed(workers[:1])
    return 2 * solo / _timed(workers)


def _timed(workers: list[subprocess.Popen[str]]) -> float:
    began = time.perf_counter()
    for each in workers:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in workers:
        _answer(each)
    return time.perf_counter() - began


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default=str(ROOT / "fixture" / "task"))
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("TASK", args.task)
    prepare_process()
    if args.worker:
        return worker(args.worker)
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder))
        result = {"training step": training_step(ours, Plain(ours.inputs))}
        result["parts of the step"] = parts(ours)
        result["evaluation"] = evaluation(ours, result["training step"]["ours_ms"] / 1e3)
        result["epochs"] = epochs(ours)
        result["side by side"] = side_by_side(Path(folder))
    show(result)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    return None


def show(result: dict[str, Any], indent: str = "") -> None:
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{indent}{name}")
            show(value, indent + "  ")
        else:
            print(
                f"{indent}{name:30} {value:,.3f}"
                if isinstance(value, float)
                else f"{indent}{name:30} {value:,}"
            )


if __name__ == "__main__":
    main()
