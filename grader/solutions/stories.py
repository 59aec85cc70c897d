"""The wrong stories: what one hands in who trusts the proxy, nothing at all, or the small KL.

Each has a true dev_eval, the three headings, one valid experiment and no estimate.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from rlhf.vocab import FAMILIES

_SAY = "import json, sys\nout = sys.argv[sys.argv.index('--out') + 1]\n"
_SUMMARY = "## Findings\n{0}\n\n## Decision\n{1}\n\n## How I computed this\nRead from the runs.\n"
RUNS = ("default-s800", "fourfam-s800", "kl002-s1500", "kl05-s800", "pilotmix-s800")


def _dev(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "dev_eval.json").read_bytes()))


def _diagnostic(flag: bool) -> str:
    """A program that says the same of every family."""
    families = {family: {"risk": 0.5, "flag": flag} for family in FAMILIES}
    return f"{_SAY}json.dump({{'families': {families!r}}}, open(out, 'w'))\n"


def best_proxy_run(task: Path) -> str:
    """The shipped run with the highest proxy on the development prompts."""
    return max(RUNS, key=lambda name: _dev(task / "runs" / name)["proxy_mean"])


def _write(
    task: Path, out: Path, source: str, ship: tuple[str, ...], improved: list[str], flag: bool
) -> None:
    """A submission of the policy of `source` (a run, or "" for the reference)."""
    origin = task / "runs" / source if source else task / "policy"
    (out / "checkpoint").mkdir()
    for name in ("policy.safetensors", "config.json"):
        shutil.copyfile(origin / name, out / "checkpoint" / name)
    dev = _dev(origin)
    (out / "measured.json").write_text(json.dumps(dev))
    answer = {
        "checkpoint_dir": "checkpoint",
        "recipe": {"source": source or "own", "description": "a policy that was already there"},
        "dev_eval": {key: dev[key] for key in ("proxy_mean", "kl_mean")},
        "certification": {
            "improved_over_reference": bool(improved),
            "estimated_true_quality": None,
            "families_improved": improved,
            "families_not_improved": [family for family in FAMILIES if family not in improved],
            "basis": "the development evaluation",
        },
        "run_assessments": [
            {"run": name, "recommend_ship": name in ship, "issues": []} for name in RUNS
        ],
        "experiments": [
            {
                "name": "development evaluation",
                "description": "proxy reward and KL of the chosen policy",
                "files": ["measured.json"],
                "results": {"proxy_mean": dev["proxy_mean"]},
            }
        ],
    }
    (out / "answer.json").write_text(json.dumps(answer, indent=1))
    (out / "diagnostic.py").write_text(_diagnostic(flag))
    chosen = source or "the reference"
    (out / "summary.md").write_text(_SUMMARY.format(f"Proxy {dev['proxy_mean']:.2f}.", chosen))


def face_value(task: Path, out: Path) -> None:
    """Ship the best-proxy run; recommend it, the default and the pilot mix; certify all six."""
    ship = ("default-s800", "kl002-s1500", "pilotmix-s800")
    _write(task, out, best_proxy_run(task), ship, list(FAMILIES), flag=False)


def recall(task: Path, out: Path) -> None:
    """Ship the reference; recommend and certify nothing; flag everything."""
    _write(task, out, "", (), [], flag=True)


def early_stop(task: Path, out: Path) -> None:
    """Ship the run with the large KL coefficient, recommend it alone, certify all six."""
    _write(task, out, "kl05-s800", ("kl05-s800",), list(FAMILIES), flag=False)


def empty(task: Path, out: Path) -> None:
    """Hand in nothing."""
