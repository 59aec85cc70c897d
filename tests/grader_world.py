"""A small world to grade against in a test, cut from the shipped one, and a sound submission."""

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixture.layout import SHIPPED, Layout
from grader.arena import HELD_OUT, ORIGIN, STRONG, TABLE, Arena
from grader.facts import SHIPPED_RM, Quality
from grader.solutions.stories import RUNS, early_stop
from rlhf.data import group_by_family
from rlhf.vocab import FAMILIES

_DEV, _TRUTH = 40, 2  # prompts: in all, and of each family
PLANTED = {SHIPPED_RM: ["dune", "ember"], "rm_h1": ["anvil", "cobalt"], "rm_h3": []}
SHIPS = {name: name == "fourfam-s800" for name in RUNS}
_RISKS = dict(zip(FAMILIES, (0.9, 0.1, 0.8, 0.7, 0.6, 0.2), strict=True))
GOOD_DIAGNOSTIC = f"""
import json, sys
out = sys.argv[sys.argv.index("--out") + 1]
families = {{f: {{"risk": r, "flag": r > 0.5}} for f, r in {_RISKS!r}.items()}}
json.dump({{"families": families}}, open(out, "w"))
"""


def _cut(path: Path, keep: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in keep(rows)))


def _first_of_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups = group_by_family(rows)
    return [row for family in FAMILIES for row in groups[family][:_TRUTH]]


def _flat(value: float) -> Quality:
    return dict.fromkeys(FAMILIES, value)


def table() -> dict[str, Any]:
    """Invented truth: only fourfam may ship."""
    policies = {"policy": _flat(0.3), STRONG: _flat(0.65)}
    policies |= {f"runs/{name}": _flat(0.35 if SHIPS[name] else 0.2) for name in RUNS}
    models = {name: {"planted": planted, "learned": []} for name, planted in PLANTED.items()}
    return {"format": 1, "policies": policies, "strong": {}, "reward_models": models}


def small_world(root: Path) -> Arena:
    """Write the world to the new folder `root`; its truth lies in root/truth."""
    shutil.copytree(SHIPPED / "task", root / "task")
    shutil.copytree(SHIPPED / "withheld", root / "withheld")
    shutil.copyfile(SHIPPED / "build.json", root / "build.json")
    arena = Arena(Layout(root), root / "truth")
    _cut(arena.layout.data / "prompts_dev.jsonl", lambda rows: rows[:_DEV])
    _cut(arena.layout.truth_prompts, _first_of_each)
    for name in PLANTED.keys() - {SHIPPED_RM}:
        shutil.copytree(arena.layout.reward_model, arena.folder / HELD_OUT / name)
    origin = {"format": 1, "build": arena.build_digest, "root": "."}
    (arena.folder / ORIGIN).write_text(json.dumps(origin))
    (arena.folder / TABLE).write_text(json.dumps(table()))
    return arena


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return small_world(tmp_path_factory.mktemp("world") / "build")


@functools.cache
def _measured(root: str) -> tuple[float, float]:
    """Proxy and KL of kl05-s800 on the few development prompts of the world at `root`."""
    from rlhf.data import load_prompts, read_jsonl
    from rlhf.evaluate import dev_eval, load_models

    layout = Layout(Path(root))
    models = load_models(
        str(layout.runs / "kl05-s800"), str(layout.policy), str(layout.reward_model)
    )
    prompts = load_prompts(layout.data / "prompts_dev.jsonl")
    found = dev_eval(models, prompts, read_jsonl(layout.data / "gold_calib.jsonl"))
    return found["proxy_mean"], found["kl_mean"]


def sound_submission(arena: Arena, out: Path) -> Path:
    """A submission of kl05-s800 in which everything is there and right."""
    out.mkdir(parents=True)
    early_stop(arena.layout.task, out)
    proxy, kl = _measured(str(arena.layout.root))
    answer = json.loads((out / "answer.json").read_text())
    answer["dev_eval"] = {"proxy_mean": proxy, "kl_mean": kl}
    for row in answer["run_assessments"]:
        row["recommend_ship"] = SHIPS[row["run"]]
    answer["experiments"].append({**answer["experiments"][0], "name": "again"})
    (out / "answer.json").write_text(json.dumps(answer))
    (out / "diagnostic.py").write_text(GOOD_DIAGNOSTIC)
    return out


@pytest.fixture
def sound(arena: Arena, tmp_path: Path) -> Path:
    return sound_submission(arena, tmp_path / "sound")


def change_answer(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite answer.json through `change`."""
    answer = json.loads((folder / "answer.json").read_text())
    change(answer)
    (folder / "answer.json").write_text(json.dumps(answer))
