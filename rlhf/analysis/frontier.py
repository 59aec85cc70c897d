"""Best-of-n from the reference as a curve: mean proxy of the best of n against its KL.

    python -m rlhf.analysis.frontier [--per-family 50 --n 64 --seed 0 ...] --out FILE

For each prompt N samples are drawn once; the mean of the best of n is estimated without bias over
all subsets of size n, sum_i C(i-1, n-1) / C(N, n) * s_(i) with the scores in ascending order
(Nakano et al. 2021, WebGPT, appendix I). KL is the upper bound log n - (n-1)/n in nats, exact for
scores without ties; standard errors are over prompts.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import cli
from ..bon import kl_bound
from ..config import integer, task_path
from ..data import Record, group_by_family, load_prompts, prompts_tensor
from ..evaluate import balanced_mean, clustered_mean
from ..kernels import prepare_process
from ..model import load_policy, sample
from ..reward_model import load_rm, score
from ..runlog import write_json

PER_FAMILY = 50  # prompts
SAMPLES = 64  # a prompt


def weights(N: int, n: int) -> Tensor:
    """[N] weights of the ascending scores: the chance that each is the best of n of them."""
    whole = math.comb(N, n)
    return torch.tensor([math.comb(i, n - 1) / whole for i in range(N)], dtype=torch.float64)


def best_of(scores: Tensor, n: int) -> Tensor:
    """[B] unbiased estimates of the mean best of n from scores [B, N]."""
    ascending = scores.double().sort(1).values
    return ascending @ weights(scores.shape[1], n)


def sizes(N: int) -> list[int]:
    """1, 2, 4, ... up to N."""
    return [2**k for k in range(N.bit_length()) if 2**k <= N]


def curve(scores: Tensor) -> list[dict[str, Any]]:
    """[{n, kl, proxy: {mean, se, n}}] of the scores [B, N] of one family."""
    B, N = scores.shape
    rows = []
    for n in sizes(N):
        proxy = clustered_mean(best_of(scores, n), 1)
        rows.append({"n": n, "kl": kl_bound(n), "proxy": {**proxy, "n": B * N}})
    return rows


def frontier(
    policy: Any, rm: Any, records: Sequence[Record], per_family: int, N: int, seed: int = 0
) -> dict[str, Any]:
    """{families: {family: curve}, overall: curve}; N samples for each of the first prompts."""
    generator = torch.Generator().manual_seed(seed)
    families = {}
    for family, rows in group_by_family(records).items():
        prompts = prompts_tensor(rows[:per_family])
        responses = sample(policy, prompts, N, generator=generator)
        scores = score(rm, prompts.repeat_interleave(N, 0), responses).view(-1, N)
        families[family] = curve(scores)
    overall = [
        {"n": at[0]["n"], "kl": at[0]["kl"], "proxy": balanced_mean([row["proxy"] for row in at])}
        for at in zip(*families.values(), strict=True)
    ]
    return {"format": 1, "families": families, "overall": overall}


def _run(args: argparse.Namespace) -> None:
    per_family, N = integer("per-family", args.per_family, low=1), integer("n", args.n, low=1)
    policy = load_policy(task_path(args.policy))[0]
    rm = load_rm(task_path(args.reward_model))[0]
    records = load_prompts(task_path(args.prompts))
    seed = integer("seed", args.seed)
    write_json(Path(args.out), frontier(policy, rm, records, per_family, N, seed))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.frontier`."""
    name = "python -m rlhf.analysis.frontier"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--policy", default="/task/policy", help="the reference")
    parser.add_argument("--reward-model", default="/task/reward_model")
    parser.add_argument("--prompts", default="/task/data/prompts_train.jsonl")
    parser.add_argument("--per-family", type=int, default=PER_FAMILY, help="prompts of a family")
    parser.add_argument("--n", type=int, default=SAMPLES, help="samples per prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="/dev/stdout", help="write the JSON here")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
