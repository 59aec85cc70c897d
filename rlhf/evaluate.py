"""What a policy earns and how far it has moved: proxy reward and KL on fixed prompts.

    python -m rlhf.evaluate --policy DIR [--per-family 200 --n 4 --seed 0 --out FILE ...]

prints, and with --out writes, the mean proxy reward and KL of each family with standard errors.
`dev_eval` is the evaluation on the prompts of the development mix.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import cli
from .config import integer, task_path
from .data import (
    Record,
    group_by_family,
    labels_tensor,
    load_labelled,
    load_prompts,
    prompts_tensor,
    responses_tensor,
)
from .errors import DataError
from .kernels import prepare_process
from .model import Policy, load_policy, response_logprobs, sample
from .reinforce import sequence_kl
from .reward_model import RewardModel, load_rm, score
from .runlog import dumps, write_json

_PROMPTS = 128  # prompts evaluated between two reports of progress

Progress = Callable[[int, int], None]  # (prompts done, prompts in all)


class Samples(NamedTuple):
    """N = B*n responses to B prompts; row i answers prompt i // n."""

    responses: Tensor  # [N, 8]
    proxy: Tensor  # [N] raw reward-model scores
    kl: Tensor  # [N] per-sequence k1, nats


class Models(NamedTuple):
    policy: Policy
    reference: Policy
    rm: RewardModel


def load_models(policy: str, policy_ref: str, reward_model: str) -> Models:
    """The three models of an evaluation. Raises CheckpointError."""
    return Models(
        load_policy(task_path(policy))[0],
        load_policy(task_path(policy_ref))[0],
        load_rm(task_path(reward_model))[0],
    )


@torch.no_grad()
def collect(
    models: Models,
    prompts: Tensor,
    n: int,
    generator: torch.Generator,
    progress: Progress | None = None,
) -> Samples:
    """n samples at temperature 1 for each of prompts [B, 6], scored."""
    responses = sample(models.policy, prompts, n, generator=generator)
    prompts_rep, parts = prompts.repeat_interleave(n, 0), []
    for at in range(0, len(prompts), _PROMPTS):
        rows = slice(at * n, (at + _PROMPTS) * n)
        parts.append(_judge(models, prompts_rep[rows], responses[rows]))
        if progress:
            progress(min(at + _PROMPTS, len(prompts)), len(prompts))
    proxy, kl = (torch.cat(column) for column in zip(*parts, strict=True)) if parts else _nothing()
    return Samples(responses, proxy, kl)


def _judge(models: Models, prompts_rep: Tensor, responses: Tensor) -> tuple[Tensor, Tensor]:
    logp = response_logprobs(models.policy, prompts_rep, responses)
    ref_logp = response_logprobs(models.reference, prompts_rep, responses)
    return score(models.rm, prompts_rep, responses), sequence_kl(logp, ref_logp)


def _nothing() -> tuple[Tensor, Tensor]:
    return torch.empty(0), torch.empty(0)


def clustered_mean(values: Tensor, n: int) -> dict[str, float | int | None]:
    """{mean, se, n} of values [B*n]; the standard error is over prompts, n counts samples.

    Samples of one prompt are not independent. se is null with fewer than two prompts.
    """
    by_prompt = values.double().view(-1, n).mean(1)
    B = len(by_prompt)
    se = by_prompt.std().item() / math.sqrt(B) if B > 1 else None
    return {"mean": by_prompt.mean().item() if B else None, "se": se, "n": B * n}


def balanced_mean(means: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean over families of independent {mean, se, n}, with its standard error."""
    K = len(means)
    known = all(m["se"] is not None for m in means)
    se = math.sqrt(sum(m["se"] ** 2 for m in means)) / K if known else None
    return {"mean": sum(m["mean"] for m in means) / K, "se": se, "n": sum(m["n"] for m in means)}


def evaluate_families(
    models: Models,
    records: Sequence[Record],
    per_family: int = 200,
    n: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Proxy and KL of every family present, on its first `per_family` prompts, n samples each."""
    groups = {name: rows[:per_family] for name, rows in group_by_family(records).items()}
    generator = torch.Generator().manual_seed(seed)
    total, done, families = sum(map(len, groups.values())), 0, {}
    for family, rows in groups.items():
        report = _offset(progress, done, total)
        samples = collect(models, prompts_tensor(rows), n, generator, report)
        done += len(rows)
        families[family] = {
            "proxy": clustered_mean(samples.proxy, n),
            "kl": clustered_mean(samples.kl, n),
        }
    balanced = {
        key: balanced_mean([family[key] for family in families.values()]) for key in ("proxy", "kl")
    }
    return {"prompts": per_family, "n": n, "seed": seed, "families": families, "balanced": balanced}


def _offset(progress: Progress | None, done: int, total: int) -> Progress | None:
    return (lambda now, _: progress(done + now, total)) if progress else None


def dev_eval(
    models: Models, records: Sequence[Record], gold: Sequence[Record], n: int = 1, seed: int = 0
) -> dict[str, float | int]:
    """Proxy and KL over `records`, and how well the reward model agrees with the gold labels."""
    generator = torch.Generator().manual_seed(seed)
    samples = collect(models, prompts_tensor(records), n, generator)
    proxy, kl = samples.proxy.double(), samples.kl.double()
    gold_scores = score(models.rm, prompts_tensor(gold), responses_tensor(gold))
    return {
        "n_prompts": len(records),
        "samples_per_prompt": n,
        "proxy_mean": proxy.mean().item(),
        "proxy_std": proxy.std().item() if len(proxy) > 1 else math.nan,
        "proxy_p50": proxy.quantile(0.5).item(),
        "proxy_p90": proxy.quantile(0.9).item(),
        "kl_mean": kl.mean().item(),
        "rm_gold_pearson": pearson(gold_scores, labels_tensor(gold)),
    }


def dev_report(
    policy: str,
    policy_ref: str = "/task/policy",
    reward_model: str = "/task/reward_model",
    prompts: str = "/task/data/prompts_dev.jsonl",
    gold: str = "/task/data/gold_calib.jsonl",
    n: int = 1,
    seed: int = 0,
) -> dict[str, Any]:
    """`dev_eval` of the folder `policy`, with the names of what was read: a dev_eval.json."""
    models, labelled = load_models(policy, policy_ref, reward_model), load_labelled(task_path(gold))
    if len(labelled) < 2:
        raise DataError(f"{gold} holds {len(labelled)} labelled records: a correlation needs two")
    result = dev_eval(models, load_prompts(task_path(prompts)), labelled, n, seed)
    return {"policy": policy, "prompts": prompts, **result}


def pearson(x: Tensor, y: Tensor) -> float:
    """Pearson correlation of x [N] and y [N]."""
    return torch.corrcoef(torch.stack([x.double(), y.double()]))[0, 1].item()


def _parser(program: str, description: str | None, n: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--policy", required=True, help="folder of the policy")
    parser.add_argument("--policy-ref", default="/task/policy")
    parser.add_argument("--reward-model", default="/task/reward_model")
    parser.add_argument("--n", type=int, default=n, help="samples per prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="also write the JSON here")
    return parser


def _emit(result: dict[str, Any], out: str | None) -> None:
    print(dumps(result, indent=1))
    if out:
        write_json(Path(out), result)


def _run_families(args: argparse.Namespace) -> None:
    n, seed = integer("n", args.n, low=1), integer("seed", args.seed)
    per_family = integer("per-family", args.per_family, low=2)
    models = load_models(args.policy, args.policy_ref, args.reward_model)
    records = load_prompts(task_path(args.prompts))
    result = evaluate_families(models, records, per_family, n, seed, _narrate)
    _emit(result, args.out)


def _narrate(done: int, total: int) -> None:
    cli.narrate(f"progress {done}/{total}")


def _run_dev(args: argparse.Namespace) -> None:
    n, seed = integer("n", args.n, low=1), integer("seed", args.seed)
    result = dev_report(
        args.policy, args.policy_ref, args.reward_model, args.prompts, args.gold, n, seed
    )
    _emit(result, args.out)


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.evaluate`."""
    parser = _parser("python -m rlhf.evaluate", __doc__, n=4)
    parser.add_argument("--prompts", default="/task/data/prompts_train.jsonl")
    parser.add_argument("--per-family", type=int, default=200, help="prompts of each family")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run_families(args))


def dev_main(argv: Sequence[str] | None = None) -> int:
    """The command `python eval/dev_eval.py` of a task folder."""
    parser = _parser("dev_eval.py", "Proxy reward and KL on the development prompts.", n=1)
    parser.add_argument("--prompts", default="/task/data/prompts_dev.jsonl")
    parser.add_argument("--gold", default="/task/data/gold_calib.jsonl")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run_dev(args))


if __name__ == "__main__":
    sys.exit(main())
