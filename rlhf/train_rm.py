"""Reward-model training: mean squared error on labelled responses.

python -m rlhf.train_rm --data FILE --out DIR [--epochs 40 --lr 2e-3 --seed 0]
"""

import argparse
import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from . import cli
from .config import integer, number, task_path
from .data import labels_tensor, load_labelled, prompts_tensor, responses_tensor
from .fit import Progress, fit
from .kernels import prepare_process
from .reward_model import RewardModel, default_config, save_rm


def train_rm(
    prompts: Tensor,
    responses: Tensor,
    labels: Tensor,
    *,
    epochs: int = 40,
    lr: float = 2e-3,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[RewardModel, list[float]]:
    """(reward model, each epoch's MSE) from prompts [N, 6], responses [N, 8], labels [N]."""
    prepare_process()
    torch.manual_seed(seed)
    rm = RewardModel(default_config())
    ids = torch.cat([prompts, responses], 1)

    def loss_of(rows: Tensor) -> Tensor:
        return (rm(ids[rows]) - labels[rows]).square().mean()

    losses = fit(rm, loss_of, len(ids), epochs=epochs, lr=lr, seed=seed, progress=progress)
    return rm, losses


def _run(args: argparse.Namespace) -> None:
    epochs, seed = integer("epochs", args.epochs, low=1), integer("seed", args.seed)
    lr = number("lr", args.lr, strict=True)
    records = load_labelled(task_path(args.data))
    rm, losses = train_rm(
        prompts_tensor(records),
        responses_tensor(records),
        labels_tensor(records),
        progress=lambda done, total: cli.narrate(f"epoch {done}/{total}"),
        epochs=epochs,
        lr=lr,
        seed=seed,
    )
    save_rm(rm, rm.cfg, args.out)
    cli.narrate(f"final loss {losses[-1]:.5f} on {len(records)} rows")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rlhf.train_rm", description=__doc__)
    parser.add_argument("--data", required=True, help="JSONL of labelled records")
    parser.add_argument("--out", required=True, help="folder for rm.safetensors and config.json")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--lr", type=float, default=2e-3, help="peak of the one-cycle schedule")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
