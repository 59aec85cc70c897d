"""The raw scores behind the tails: what a policy answers, what the reward model says to it.

    python -m rlhf.analysis.scores --policy DIR --out FILE.jsonl [--per-family 500 --n 4 ...]

writes one row a response: id, family, prompt, response, score (the reward model's own number,
never clipped) and kl (per-sequence k1, nats). A number that is not finite is written as "nan",
"inf" or "-inf": strict JSON, and it stays known which.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from .. import cli
from ..config import integer, task_path
from ..data import Record, group_by_family, load_prompts, prompts_tensor, write_jsonl
from ..evaluate import Models, Progress, Samples, collect, load_models
from ..kernels import prepare_process
from ..vocab import decode_response

PER_FAMILY = 500  # prompts
SAMPLES = 4  # a prompt: 2,000 scores a family, which is what high quantiles need


def score_rows(
    models: Models,
    records: Sequence[Record],
    per_family: int = PER_FAMILY,
    n: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of the first `per_family` prompts of each family, n samples each at temperature 1."""
    groups = [rows[:per_family] for rows in group_by_family(records).values()]
    generator = torch.Generator().manual_seed(seed)
    total, done = sum(map(len, groups)), 0
    for group in groups:
        before = done
        report = (lambda now, _, b=before: progress(b + now, total)) if progress else None
        yield from _rows(group, collect(models, prompts_tensor(group), n, generator, report), n)
        done += len(group)


def _rows(group: Sequence[Record], samples: Samples, n: int) -> Iterator[dict[str, Any]]:
    scores, kls = samples.proxy.tolist(), samples.kl.tolist()
    for index, response in enumerate(samples.responses.tolist()):
        record = group[index // n]
        yield {
            "id": record.get("id"),
            "family": record["family"],
            "prompt": " ".join([record["family"], *(f"v{value}" for value in record["attrs"])]),
            "response": " ".join(decode_response(response)),
            "score": written(scores[index]),
            "kl": written(kls[index]),
        }


def written(value: float) -> float | str:
    """A number as it stands in a score file."""
    return value if math.isfinite(value) else str(value)


def _run(args: argparse.Namespace) -> None:
    n, seed = integer("n", args.n, low=1), integer("seed", args.seed)
    per_family = integer("per-family", args.per_family, low=1)
    models = load_models(args.policy, args.policy_ref, args.reward_model)
    records = load_prompts(task_path(args.prompts))
    rows = score_rows(models, records, per_family, n, seed, _narrate)
    write_jsonl(Path(args.out), rows)


def _narrate(done: int, total: int) -> None:
    cli.narrate(f"progress {done}/{total}")


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.scores`."""
    name = "python -m rlhf.analysis.scores"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--policy", required=True, help="folder of the policy")
    parser.add_argument("--policy-ref", default="/task/policy")
    parser.add_argument("--reward-model", default="/task/reward_model")
    parser.add_argument("--prompts", default="/task/data/prompts_train.jsonl")
    parser.add_argument("--per-family", type=int, default=PER_FAMILY, help="prompts of a family")
    parser.add_argument("--n", type=int, default=SAMPLES, help="samples per prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True, help="the score file to write")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
