"""Speed of the pipeline: prints ratios measured in one run, and writes them as JSON.

python tests/bench/bench_lab.py [--task DIR] [--out bench.json]
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import plain_step as plain
import torch
from measure import interleaved, middle, ratio
from side_by_side import side_by_side
from step_speed import parts, training_step
from torch import Tensor
from trainings import Ours, Plain

from rlhf.data import load_prompts, prompts_tensor
from rlhf.evaluate import Models, collect
from rlhf.kernels import prepare_process
from rlhf.model import Policy, default_config, response_logprobs, sample
from rlhf.reward_model import RewardModel
from rlhf.reward_model import default_config as rm_config

ROOT = Path(__file__).resolve().parents[2]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default=str(ROOT / "fixture" / "task"))
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    os.environ.setdefault("TASK", args.task)
    prepare_process()
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
