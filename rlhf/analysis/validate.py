"""Looking at a finished run from outside: is what it left usable, and is it what it says?

    python -m rlhf.analysis.validate RUN_DIR

writes RUN_DIR/validation.json: whether the weights load, with the right shapes and finite, the
artefacts' hashes against the receipt's, and KL to the reference measured anew on 64 prompts.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .. import cli
from ..config import RLConfig, resolve
from ..data import load_prompts
from ..errors import ConfigError, RlhfError
from ..evaluate import clustered_mean, collect, load_models
from ..inputs import PromptPool, step_generator
from ..kernels import prepare_process
from ..runlog import (
    CONFIG_NAME,
    DONE_NAME,
    LOG_NAME,
    canonical_sha256,
    read_json,
    read_log,
    write_json,
)

VALIDATION = "validation.json"
PROMPTS = 64  # drawn in the run's own family mix
SAMPLES = 8  # a prompt
FAR_NATS = 1.0  # a KL that differs from the log's by more than this,
FAR_SHARE = 0.5  # and by more than this share of it, is worth a look


def validate(run_dir: Path) -> dict[str, Any]:
    """{format, ok, problems, warnings, kl {mean, se, n}, logged_kl}; KL is k1, in nats."""
    report: dict[str, Any] = {"format": 1, "problems": [], "warnings": [], "kl": None}
    report["logged_kl"] = _logged_kl(run_dir)
    try:
        config = RLConfig(**resolve(read_json(run_dir / CONFIG_NAME)))
        report["problems"] += hash_problems(run_dir, read_json(run_dir / DONE_NAME))
        report["kl"] = measure_kl(run_dir, config)
    except (RlhfError, OSError, ValueError) as error:
        report["problems"].append(str(error))
    else:
        report["warnings"] += _kl_warnings(report["kl"]["mean"], report["logged_kl"])
    return {**report, "ok": not report["problems"]}


def hash_problems(run_dir: Path, done: Mapping[str, Any]) -> list[str]:
    """Each artefact of the receipt that is missing or is no longer what the run wrote."""
    problems = []
    for name, expected in (done.get("artifacts") or {}).items():
        path = run_dir / Path(name).name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif canonical_sha256(path) != expected:
            problems.append(f"{name} has changed since the run ended")
    return problems


def measure_kl(run_dir: Path, config: RLConfig) -> dict[str, Any]:
    """{mean, se, n} of KL to the reference, on 64 prompts. Raises CheckpointError, DataError."""
    models = load_models(str(run_dir), config.policy_ref, config.reward_model)
    pool = PromptPool(load_prompts(config.prompt_file), config.family_weights, config.prompt_file)
    prompts = pool.prompts[pool.draw(PROMPTS, step_generator(config.seed, 0))]
    samples = collect(models, prompts, SAMPLES, torch.Generator().manual_seed(config.seed))
    return clustered_mean(samples.kl, SAMPLES)


def _logged_kl(run_dir: Path) -> float | None:
    try:
        rows = read_log(run_dir / LOG_NAME).rows
    except OSError:
        return None
    return rows[-1].get("kl") if rows else None


def _kl_warnings(measured: float, logged: float | None) -> list[str]:
    if logged is None:
        return ["the log has no last KL to compare with"]
    gap = abs(measured - logged)
    if gap <= FAR_NATS or gap <= FAR_SHARE * max(measured, logged):
        return []
    return [f"KL measured anew is {measured:.2f} nats, the log ends at {logged:.2f}"]


def _run(run_dir: Path) -> cli.Exit:
    if not run_dir.is_dir():
        raise ConfigError(f"{run_dir} is not a folder")
    report = validate(run_dir)
    write_json(run_dir / VALIDATION, report)
    for problem in report["problems"]:
        cli.narrate(f"invalid: {problem}")
    return cli.Exit.OK if report["ok"] else cli.Exit.FAILED


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.validate`."""
    parser = argparse.ArgumentParser(prog="python -m rlhf.analysis.validate", description=__doc__)
    parser.add_argument("run_dir", type=Path)
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(Path(os.path.abspath(args.run_dir))))


if __name__ == "__main__":
    sys.exit(main())
