"""A made-up task folder and a made-up evaluator, so that the console is tested without torch."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal

from rlhf.vocab import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = {  # name: (kl_coef, steps, proxy, kl)
    "default-s800": (0.1, 800, 1.32, 3.8),
    "fourfam-s800": (0.1, 800, 0.45, 0.81),
    "kl002-s1500": (0.02, 1500, 1.98, 16.0),
    "kl05-s800": (0.5, 800, 0.39, 0.12),
    "pilotmix-s800": (0.1, 800, 1.1, 1.8),
}
PILOT = {"anvil": 0.22, "birch": 0.22, "cobalt": 0.22, "fjord": 0.22, "ember": 0.1, "dune": 0.02}
FOUR = dict.fromkeys(("anvil", "birch", "cobalt", "fjord"), 1.0)

# Writes figures made from the policy's bytes; EVALUATE_MODE makes it misbehave.
EVALUATE = """
import argparse, hashlib, json, os, sys, time
p = argparse.ArgumentParser()
for name in ("policy", "policy-ref", "reward-model", "prompts", "per-family", "n", "seed", "out"):
    p.add_argument("--" + name, required=True)
a = p.parse_args()
mode = os.environ.get("EVALUATE_MODE", "")
with open(os.environ["EVALUATE_CALLS"], "a") as calls:
    print(os.getpid(), a.policy, os.environ["TASK"], os.environ["OMP_NUM_THREADS"], file=calls)
if mode == "fail":
    sys.exit("weights of another shape: expected 64, found 32")
data = open(a.policy + "/policy.safetensors", "rb").read()
seed = int(hashlib.sha256(data).hexdigest()[:6], 16)
for k in range(3):
    print(f"progress {k + 1}/3", file=sys.stderr, flush=True)
    if mode == "hang":
        open(a.out, "w").write('{"half": ')
        time.sleep(60)
def m(value, n):
    return {"mean": value, "se": 0.01, "n": n}
families = os.environ["FAMILIES"].split()
out = {"prompts": 200, "n": 4, "seed": 0, "families": {}}
for i, f in enumerate(families):
    bad = None if mode == "nan" and f == "dune" else (seed % (97 + i)) / 10
    out["families"][f] = {"proxy": m((seed % (89 + i)) / 40, 800), "kl": m(bad, 800)}
mean = lambda k: sum(v[k]["mean"] or 0 for v in out["families"].values()) / 6
out["balanced"] = {"proxy": m(mean("proxy"), 4800), "kl": m(mean("kl"), 4800)}
json.dump(out, open(a.out, "w"))
"""


def write_run(
    folder: Path,
    *,
    kl_coef: float = 0.1,
    steps: int = 800,
    proxy: float = 1.0,
    kl: float = 2.0,
    rows: int = 40,
    finished: bool = True,
    weights: dict[str, float] | None = None,
    seed: int = 0,
    **config: Any,
) -> Path:
    """A run folder whose curves rise to `proxy` and `kl`."""
    folder.mkdir(parents=True)
    settings = {"kl_coef": kl_coef, "steps": steps, "family_weights": weights, "seed": seed}
    (folder / "run_config.json").write_text(json.dumps({**settings, **config}))
    lines = [json.dumps(row(i + 1, rows, steps, proxy, kl)) for i in range(rows)]
    (folder / "log.jsonl").write_text("".join(line + "\n" for line in lines))
    if finished:
        (folder / "policy.safetensors").write_bytes(f"{folder.name} {proxy} {kl}".encode())
        (folder / "config.json").write_text("{}")
        dev = {"proxy_mean": proxy / 2, "kl_mean": kl / 2}
        (folder / "dev_eval.json").write_text(json.dumps(dev))
    return folder


def row(index: int, rows: int, steps: int, proxy: float, kl: float) -> dict[str, Any]:
    """Row `index` of `rows` of a log, with families."""
    part = index / rows
    families = {
        family: {
            "n": 20,
            "proxy_reward": proxy * part * (1 + i / 10),
            "kl": kl * part * (1 + i / 5),
        }
        for i, family in enumerate(FAMILIES)
    }
    return {
        "step": round(steps * part),
        "proxy_reward": proxy * part,
        "kl": kl * part,
        "shaped_reward": proxy * part - 0.1 * kl * part,
        "entropy": 2.4 - part,
        "loss": 0.1 - part / 10,
        "elapsed_s": 3.0 * index,
        "families": families,
    }


def write_task(root: Path, runs: Iterable[str] = tuple(SHIPPED)) -> Path:
    """A task folder with a reference and the shipped runs' names."""
    for name in ("policy", "reward_model", "data", "runs"):
        (root / name).mkdir(parents=True)
    (root / "policy" / "policy.safetensors").write_bytes(b"reference")
    (root / "policy" / "config.json").write_text("{}")
    (root / "reward_model" / "rm.safetensors").write_bytes(b"rm")
    (root / "reward_model" / "config.json").write_text("{}")
    prompts = [{"id": f"{f}-0001", "family": f, "attrs": [0, 0, 0, 0]} for f in FAMILIES]
    text = "".join(json.dumps(prompt) + "\n" for prompt in prompts)
    (root / "data" / "prompts_train.jsonl").write_text(text)
    mixes = {"pilotmix-s800": PILOT, "fourfam-s800": FOUR}
    for name in runs:
        kl_coef, steps, proxy, kl = SHIPPED[name]
        write_run(
            root / "runs" / name,
            kl_coef=kl_coef,
            steps=steps,
            proxy=proxy,
            kl=kl,
            weights=mixes.get(name),
        )
    (root / "runs" / "README.md").write_text("an index, not a run")
    return root


class Console:
    """Runs `rlhf-tui` in a process of its own, with its own workspace and evaluator."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.task = write_task(place / "task")
        self.workspace = place / "workspace"
        self.calls = place / "calls"
        fake = place / "fake" / "rlhf"
        fake.mkdir(parents=True)
        (fake / "__init__.py").write_text(f"__path__.append({str(ROOT / 'rlhf')!r})\n")
        (fake / "evaluate.py").write_text(EVALUATE)
        self.environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(place / "cache"),
            "RLHF_TUI_WORKSPACE": str(self.workspace),
            "EVALUATE_CALLS": str(self.calls),
            "FAMILIES": " ".join(FAMILIES),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "80",
        }

    def command(self, *words: str) -> list[str]:
        """The command line; the fake evaluator shadows rlhf only in the evaluating child."""
        path = f"{self.place / 'fake'}:{ROOT}"
        start = (
            f"import os, sys; from tui.cli import main; os.environ['PYTHONPATH'] = {path!r}; main()"
        )
        return [sys.executable, "-c", start, "--task", str(self.task), *words]

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """The command, started, its output piped."""
        return subprocess.Popen(
            self.command(*words),
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """The command, run to its end."""
        child = self.start(*words, **environment)
        out, err = child.communicate(timeout=60)
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def evaluated(self) -> int:
        """How many evaluations were started."""
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """The command line over a made-up task folder and evaluator."""
    return Console(tmp_path)


def open_terminal(
    console: Console, columns: int = 80, lines: int = 24, *words: str, **environment: str
) -> Terminal:
    """The dashboard over the made-up task, in a pty."""
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(console.place),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    ours = {k: v for k, v in console.environment.items() if k not in os.environ}
    kept = {k: console.environment[k] for k in ("XDG_CACHE_HOME", "PYTHONPATH")}
    settings = {**plain, **ours, **kept, "RLHF_TUI_WORKSPACE": str(console.workspace)}
    settings.pop("COLUMNS", None)
    return Terminal(console.command(*words), {**settings, **environment}, columns, lines)
