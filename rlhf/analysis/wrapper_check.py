"""What a reward wrapper does to the reward, before any training is spent on it.

    python -m rlhf.analysis.wrapper_check FILE [--n 200 --seed 0 ...]

runs the wrapper, with the rights of whoever calls, on n samples of the reference policy per
family, and prints per family the raw and the wrapped reward and how they differ, as JSON.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import cli
from ..config import integer, task_path
from ..data import Record, group_by_family, load_prompts, prompts_tensor
from ..errors import DataError, WrapperError
from ..evaluate import Models, load_models
from ..kernels import prepare_process
from ..model import sample
from ..reward_model import score
from ..runlog import dumps, write_json
from ..wrapper import WrapFn, load_wrapper, wrap

SAME = 1e-6  # a reward that moved by no more has not been changed


def check(
    path: str, models: Models, records: Sequence[Record], n: int, seed: int
) -> dict[str, Any]:
    """{format, wrapper, n, seed, deterministic, families {name: figures}, overall: figures}.

    Raises WrapperError naming the wrapper and the fault.
    """
    wrap_fn = load_wrapper(path)
    rows = [row for group in group_by_family(records).values() for row in _repeat(group, n)]
    if not rows:
        raise DataError("there are no prompts to check the wrapper on")
    responses, raw = _reference_rewards(models, rows, seed)
    wrapped = _apply(wrap_fn, path, rows, responses, raw)
    again = _apply(wrap_fn, path, rows, responses, raw)
    names = [row["family"] for row in rows]
    masks = {name: torch.tensor([other == name for other in names]) for name in set(names)}
    families = {name: figures(raw[mask], wrapped[mask]) for name, mask in sorted(masks.items())}
    return {
        "format": 1,
        "wrapper": path,
        "n": n,
        "seed": seed,
        "deterministic": torch.equal(wrapped, again),
        "families": families,
        "overall": figures(raw, wrapped),
    }


def _repeat(group: Sequence[Record], n: int) -> list[Record]:
    return [group[index % len(group)] for index in range(n)]


@torch.no_grad()
def _reference_rewards(models: Models, rows: list[Record], seed: int) -> tuple[Tensor, Tensor]:
    """Responses [N, 8] of the reference to N prompts, and their raw rewards [N]."""
    prompts = prompts_tensor(rows)
    generator = torch.Generator().manual_seed(seed)
    responses = sample(models.policy, prompts, generator=generator)
    return responses, score(models.rm, prompts, responses)


def _apply(
    wrap_fn: WrapFn, path: str, rows: list[Record], responses: Tensor, raw: Tensor
) -> Tensor:
    return wrap(wrap_fn, path, 0, [dict(row) for row in rows], responses, raw)


def figures(raw: Tensor, wrapped: Tensor) -> dict[str, float | int | None]:
    """Means and spreads of raw and wrapped rewards [N], and of the change that was made."""
    raw, wrapped = raw.double(), wrapped.double()
    change = wrapped - raw
    return {
        "n": len(raw),
        "raw_mean": raw.mean().item(),
        "raw_std": _std(raw),
        "wrapped_mean": wrapped.mean().item(),
        "wrapped_std": _std(wrapped),
        "change_mean": change.mean().item(),
        "change_min": change.min().item(),
        "change_max": change.max().item(),
        "changed_share": (change.abs() > SAME).double().mean().item(),
        "pearson": _pearson(raw, wrapped),
    }


def _std(values: Tensor) -> float | None:
    return values.std().item() if len(values) > 1 else None


def _pearson(x: Tensor, y: Tensor) -> float | None:
    """Pearson correlation of x [N] and y [N]; None where either does not vary."""
    if len(x) < 2 or not x.std() or not y.std():
        return None
    return torch.corrcoef(torch.stack([x, y]))[0, 1].item()


def _run(args: argparse.Namespace) -> None:
    n, seed = integer("n", args.n, low=1), integer("seed", args.seed)
    models = load_models(args.policy_ref, args.policy_ref, args.reward_model)
    records = load_prompts(task_path(args.prompts))
    try:
        found = check(args.file, models, records, n, seed)
    except WrapperError as error:  # the file is what was to be checked: an invalid input
        raise DataError(str(error)) from error
    if args.out:
        write_json(args.out, found)
    else:
        print(dumps(found, indent=1))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.wrapper_check`."""
    name = "python -m rlhf.analysis.wrapper_check"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("file", help="a Python file with transform()")
    parser.add_argument("--policy-ref", default="/task/policy")
    parser.add_argument("--reward-model", default="/task/reward_model")
    parser.add_argument("--prompts", default="/task/data/prompts_train.jsonl")
    parser.add_argument("--n", type=int, default=200, help="samples per family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the JSON here instead of printing it")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
