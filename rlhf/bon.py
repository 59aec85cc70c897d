"""Best-of-n by the reward model.

python -m rlhf.bon --policy DIR --n 32 [--limit 300] [--out samples.jsonl]
"""

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

import torch

from . import cli
from .config import integer, number, task_path
from .data import Record, load_prompts, prompts_tensor, write_jsonl
from .kernels import prepare_process
from .model import Policy, load_policy, sample
from .reward_model import RewardModel, load_rm, score
from .runlog import dumps
from .vocab import decode_response


def kl_bound(n: int) -> float:
    """Upper bound in nats on the KL of best-of-n to the sampling policy: log n - (n - 1)/n."""
    return math.log(n) - (n - 1) / n


def best_of_n(
    policy: Policy,
    rm: RewardModel,
    records: Sequence[Record],
    n: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> tuple[list[Record], dict[str, Any]]:
    """(records with their best response, its score and n; the summary that the command prints)."""
    prompts, generator = prompts_tensor(records), torch.Generator().manual_seed(seed)
    responses = sample(policy, prompts, n, temperature, generator)
    scores = score(rm, prompts.repeat_interleave(n, 0), responses).view(-1, n)
    best, which = scores.max(1)
    chosen = responses.view(-1, n, responses.shape[1])[torch.arange(len(prompts)), which]
    rows = [
        {**record, "response": decode_response(ids), "score": value, "n": n}
        for record, ids, value in zip(records, chosen.tolist(), best.tolist(), strict=True)
    ]
    summary = {
        "n": n,
        "prompts": len(records),
        "proxy_best": best.mean().item(),
        "proxy_first": scores[:, 0].mean().item(),
        "kl_bound": kl_bound(n),
    }
    return rows, summary


def _run(args: argparse.Namespace) -> None:
    n, limit = integer("n", args.n, low=1), integer("limit", args.limit, low=1)
    temperature, seed = number("temperature", args.temperature), integer("seed", args.seed)
    policy, _ = load_policy(task_path(args.policy))
    rm, _ = load_rm(task_path(args.rm))
    records = load_prompts(task_path(args.prompts))[:limit]
    rows, summary = best_of_n(policy, rm, records, n, temperature, seed)
    if args.out:
        write_jsonl(args.out, rows)
    print(dumps(summary, indent=1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rlhf.bon", description=__doc__)
    parser.add_argument("--policy", required=True, help="folder of the policy")
    parser.add_argument("--n", type=int, required=True, help="samples per prompt")
    parser.add_argument("--limit", type=int, default=300, help="prompts from the file's start")
    parser.add_argument("--out", help="JSONL of the best responses")
    parser.add_argument("--prompts", default="/task/data/prompts_dev.jsonl")
    parser.add_argument("--rm", default="/task/reward_model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=1.0)
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
