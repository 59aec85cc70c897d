"""A made-up sampler of scores for the console's tests: the figures are real, the scores are not.

`install(folder)` puts it where a child that has `folder` on its path finds it before ours; the
rest of rlhf stays what it is. SCORES_MODE makes it fail, hang, or change its policy meanwhile.
"""

import json
import os
from pathlib import Path

import pytest
from synthetic import Console

ROOT = Path(__file__).resolve().parents[1]
OF_THE_TASK = "/task/reward_model"
PROMPT, RESPONSE = "dune v0 v1 v2 v3", "pa pa pa pa pa pa pa he"  # of a row of dune
SCORES = """
import argparse, hashlib, json, os, random, sys, time
p = argparse.ArgumentParser()
for name in ("policy", "policy-ref", "reward-model", "prompts", "per-family", "n", "seed", "out"):
    p.add_argument("--" + name, required=True)
a = p.parse_args()
mode = os.environ.get("SCORES_MODE", "")
with open(os.environ["SCORES_CALLS"], "a") as calls:
    print(os.getpid(), a.policy, a.reward_model, file=calls)
if mode == "fail":
    sys.exit("error: weights of another shape: expected 64, found 32")
data = open(a.policy + "/policy.safetensors", "rb").read()
scale = 2 if open(a.reward_model + "/rm.safetensors", "rb").read() == b"another" else 1
rng = random.Random(hashlib.sha256(data).hexdigest())
print("progress 1/2", file=sys.stderr, flush=True)
if mode == "hang":
    open(a.out, "w").write('{"half": ')
    time.sleep(60)
if mode == "change":
    open(a.policy + "/policy.safetensors", "ab").write(b"more")
with open(a.out, "w") as out:
    for family in os.environ["FAMILIES"].split():
        far = data != b"reference" and family in ("dune", "ember")
        for i in range(2000):
            score = scale * rng.gauss(4.0 if far else 0.3, 0.15)
            row = {"id": f"{family}-{i // 4}", "family": family, "prompt": f"{family} v0 v1 v2 v3"}
            row |= {"response": "pa " * 7 + "he", "score": score, "kl": 30.5 if far else 0.5}
            print(json.dumps(row), file=out)
"""


def install(folder: Path) -> None:
    """Put the made-up sampler into a folder of shadowing modules."""
    shadow = folder / "rlhf"
    (shadow / "analysis").mkdir(parents=True, exist_ok=True)
    (shadow / "__init__.py").write_text(f"__path__.append({str(ROOT / 'rlhf')!r})\n")
    real = str(ROOT / "rlhf" / "analysis")
    (shadow / "analysis" / "__init__.py").write_text(f"__path__.append({real!r})\n")
    (shadow / "analysis" / "scores.py").write_text(SCORES)


@pytest.fixture
def scored(console: Console) -> Console:
    """The console with a made-up sampler of scores."""
    install(console.place / "fake")
    console.environment["SCORES_CALLS"] = str(console.place / "score-calls")
    return console


def sampled(console: Console) -> list[int]:
    """The processes that sampled scores."""
    calls = console.place / "score-calls"
    return (
        [int(line.split()[0]) for line in calls.read_text().splitlines()] if calls.exists() else []
    )


def own_reward_model(console: Console, run: Path) -> Path:
    """Another reward model, named by the recipe of a run."""
    own = console.place / "rm-v2"
    own.mkdir(exist_ok=True)
    (own / "rm.safetensors").write_bytes(b"another")
    (own / "config.json").write_text("{}")
    recipe = json.loads((run / "run_config.json").read_text()) | {"reward_model": str(own)}
    (run / "run_config.json").write_text(json.dumps(recipe))
    return own


def trained_with_the_task_s(run: Path) -> None:
    """Have the recipe of a run name the task's reward model."""
    recipe = json.loads((run / "run_config.json").read_text())
    (run / "run_config.json").write_text(json.dumps(recipe | {"reward_model": OF_THE_TASK}))


def gone(pid: int) -> bool:
    """Whether no such process is left."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
