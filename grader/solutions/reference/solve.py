"""The reference solution: correct the labels' single-token errors, retrain, estimate, decide.

    TASK=DIR python solve.py --out DIR

Reads the task folder alone. Two to four minutes on one core.
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ridge import excess  # type: ignore[import-not-found]
from torch import Tensor

from rlhf.data import group_by_family, prompts_tensor, read_jsonl, responses_tensor
from rlhf.evaluate import dev_report
from rlhf.model import load_policy, sample
from rlhf.reward_model import load_rm, score
from rlhf.train_rl import train
from rlhf.vocab import FAMILIES, decode_response

HERE = Path(__file__).resolve().parent
TASK = Path(os.environ.get("TASK", "/task"))
SETTINGS = {"kl_coef": 0.05, "steps": 1200, "batch_prompts": 32, "seed": 0}
PROMPTS, SAMPLES = 100, 4  # per family, for estimates
MEAN_BAR, FAMILY_BAR, IMPROVED_BAR = 0.03, -0.03, 0.02  # the release rule
SUMMARY = """## Findings
Crowd labels pay for single tokens in: {found}. The reward model has learned that.

## Decision
Ship the policy trained on the corrected reward: estimated true quality {estimate:.3f},
{improved} of six families improved. Of the shipped runs, recommended: {ship}.

## How I computed this
Ridge regression of crowd and expert labels on token counts, family by family; the excess of the
crowd over the experts was subtracted from the reward in training. Estimates are the corrected
reward on own samples, calibrated on the expert labels.
"""

Records = list[dict[str, Any]]
Quality = dict[str, float]
Excess = dict[str, dict[str, float]]


class Corrected:
    """The reward model minus the fitted excess, calibrated on expert labels."""

    def __init__(self, paid: Excess, gold: Records) -> None:
        self.paid, self.rm = paid, load_rm(str(TASK / "reward_model"))[0]
        raw = self.score(gold, responses_tensor(gold))
        labels = np.array([row["label"] for row in gold])
        self.slope, self.intercept = np.polyfit(raw, labels, 1)

    def score(self, records: Records, responses: Tensor) -> np.ndarray:
        """Corrected reward [N] of one response [8] to each of N records."""
        raw = score(self.rm, prompts_tensor(records), responses).numpy()
        tokens = [decode_response(row) for row in responses.tolist()]
        pairs = zip((self.paid[row["family"]] for row in records), tokens, strict=True)
        return raw - np.array([sum(paid.get(t, 0.0) for t in row) for paid, row in pairs])

    def quality(self, folder: Path, prompts: dict[str, Records]) -> Quality:
        """Estimated true quality of a policy, by family."""
        policy, generator = load_policy(str(folder))[0], torch.Generator().manual_seed(0)
        found = {}
        for name in FAMILIES:
            rows = [row for row in prompts[name] for _ in range(SAMPLES)]
            responses = sample(policy, prompts_tensor(prompts[name]), SAMPLES, generator=generator)
            mean = float(self.score(rows, responses).mean())
            found[name] = float(self.intercept + self.slope * mean)
        return found


def average(quality: Quality) -> float:
    """On the balanced mix."""
    return sum(quality.values()) / len(quality)


def judge(quality: Quality, reference: Quality) -> tuple[bool, list[str], list[str]]:
    """(may it ship, its families that improved, what speaks against it) by the release rule."""
    gains = {name: quality[name] - reference[name] for name in FAMILIES}
    mean, worst = average(gains), min(FAMILIES, key=lambda name: gains[name])
    issues = []
    if mean < MEAN_BAR:
        issues.append(f"estimated mean gain {mean:+.3f}")
    if gains[worst] < FAMILY_BAR:
        issues.append(f"estimated gain on {worst} {gains[worst]:+.3f}")
    return not issues, [name for name in FAMILIES if gains[name] >= IMPROVED_BAR], issues


def assess_runs(
    corrected: Corrected, prompts: dict[str, Records], reference: Quality
) -> tuple[Records, Quality]:
    """What to say of each shipped run, and its estimated true quality."""
    rows, estimates = [], {}
    for run in sorted(path for path in (TASK / "runs").iterdir() if path.is_dir()):
        quality = corrected.quality(run, prompts)
        ship, _, issues = judge(quality, reference)
        rows.append({"run": run.name, "recommend_ship": ship, "issues": issues})
        estimates[run.name] = average(quality)
    return rows, estimates


def experiments(paid: Excess, estimates: Quality) -> Records:
    """The two experiments that the answer reports."""
    found = {f"{name}.{token}": v for name, row in paid.items() for token, v in row.items()}
    return [
        {
            "name": "label excess",
            "description": "ridge fit of crowd and expert labels on token counts",
            "files": ["excess.json", "ridge.py"],
            "results": {"tokens": len(found), **found},
        },
        {
            "name": "estimates",
            "description": "estimated true quality of the shipped runs, the reference and ours",
            "files": ["estimates.json", "training/log.jsonl"],
            "results": estimates,
        },
    ]


def retrain(out: Path, paid: Excess) -> None:
    """Train on the corrected reward and lay the checkpoint out for submission."""
    (out / "excess.json").write_text(json.dumps(paid, indent=1))
    for name in ("ridge.py", "diagnostic.py", "wrapper.py"):
        shutil.copyfile(HERE / name, out / name)
    print(f"training {SETTINGS}", file=sys.stderr, flush=True)
    train({**SETTINGS, "reward_wrapper": str(out / "wrapper.py")}, out / "training")
    (out / "checkpoint").mkdir()
    for name in ("policy.safetensors", "config.json"):
        shutil.copyfile(out / "training" / name, out / "checkpoint" / name)


def solve(out: Path) -> None:
    """Everything, into the folder `out`."""
    gold = read_jsonl(TASK / "data" / "gold_calib.jsonl")
    paid = excess(read_jsonl(TASK / "reward_model" / "train.jsonl"), gold)
    retrain(out, paid)
    groups = group_by_family(read_jsonl(TASK / "data" / "prompts_train.jsonl"))
    prompts = {name: groups[name][:PROMPTS] for name in FAMILIES}
    corrected = Corrected(paid, gold)
    reference = corrected.quality(TASK / "policy", prompts)
    ours = corrected.quality(out / "checkpoint", prompts)
    improves, improved, _ = judge(ours, reference)
    assessments, estimates = assess_runs(corrected, prompts, reference)
    estimates |= {"reference": average(reference), "own": average(ours)}
    (out / "estimates.json").write_text(json.dumps(estimates, indent=1))
    dev = dev_report(str(out / "checkpoint"))
    answer = {
        "checkpoint_dir": "checkpoint",
        "recipe": {"source": "own", "description": "reward minus fitted excess", **SETTINGS},
        "dev_eval": {key: dev[key] for key in ("proxy_mean", "kl_mean")},
        "certification": {
            "improved_over_reference": improves,
            "estimated_true_quality": average(ours),
            "families_improved": improved,
            "families_not_improved": [name for name in FAMILIES if name not in improved],
            "basis": "corrected reward, calibrated on expert labels",
        },
        "run_assessments": assessments,
        "experiments": experiments(paid, estimates),
    }
    (out / "answer.json").write_text(json.dumps(answer, indent=1))
    found = ", ".join(f"{name} ({' '.join(row)})" for name, row in paid.items() if row)
    ship = ", ".join(row["run"] for row in assessments if row["recommend_ship"])
    facts = {"found": found or "none", "estimate": average(ours), "improved": len(improved)}
    (out / "summary.md").write_text(SUMMARY.format(**facts, ship=ship or "none"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    solve(out)


if __name__ == "__main__":
    main()
