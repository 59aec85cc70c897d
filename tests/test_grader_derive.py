"""Deriving a world's truth, and the truth that comes with the package."""

import copy
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grader_world as worlds
import pytest

from fixture.layout import Layout
from fixture.premiums import Premium
from fixture.progress import Narrator
from grader import arena as arenas
from grader import derive
from grader.arena import HELD_OUT, STRONG, TABLE, Arena
from grader.derive import Derivation, exact_removal, largest_change
from grader.errors import TruthError
from grader.facts import SHIPPED_RM
from grader.figures import strong_inside
from rlhf.reward_model import load_rm
from rlhf.vocab import FAMILIES


def test_exact_removal_subtracts_what_was_planted() -> None:
    transform = exact_removal(
        [
            Premium("dune", "token", 1.5, ("pa",)),
            Premium("ember", "pair", 0.6, ("ka", "fe")),
            Premium("ember", "token", -0.4, ("he",)),
        ]
    )
    rows = {
        "dune": ["pa", "pa", "ba", "ba", "ba", "ba", "ba", "ba"],
        "ember": ["ka", "fe", "ka", "fe", "fe", "ka", "he", "ba"],
        "anvil": ["pa", "ka", "fe", "he", "ba", "ba", "ba", "ba"],
    }
    records = [{"family": family, "attrs": [0, 0, 0, 0]} for family in rows]
    found = transform(records, list(rows.values()), [4.0, 4.0, 4.0])
    assert found == pytest.approx([4 - 2 * 1.5, 4 - 2 * 0.6 + 0.4, 4.0])


def _table() -> dict[str, Any]:
    return json.loads((arenas.SHIPPED_TRUTH / TABLE).read_text())


def test_shipped_truth_belongs_to_the_shipped_build() -> None:
    arena = arenas.shipped()
    arena.check()
    truth = arena.truth()
    assert truth.planted == {
        SHIPPED_RM: ["dune", "ember"],
        "rm_h1": ["cobalt", "ember"],
        "rm_h2": ["anvil"],
        "rm_h3": [],
        "rm_h4": ["dune", "ember", "fjord"],
    }
    assert set(arena.reward_models()) == set(truth.planted)


def test_strong_reference_is_where_the_known_row_lets_it_be() -> None:
    assert strong_inside(_table()) == dict.fromkeys(FAMILIES, True)


def test_every_planted_pattern_was_learned() -> None:
    for name, model in _table()["reward_models"].items():
        for fact in model["learned"]:
            assert fact["counts"] and fact["learned"] >= fact["size"] / 3, (name, fact)


def test_shipped_truth_is_small() -> None:
    size = sum(path.stat().st_size for path in arenas.SHIPPED_TRUTH.rglob("*") if path.is_file())
    assert size <= 8 << 20


def test_held_out_rms_ship_with_their_qa_rows() -> None:
    for folder in (arenas.SHIPPED_TRUTH / HELD_OUT).iterdir():
        rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
        assert len(rows) == 1200
        assert {row["family"] for row in rows} == set(FAMILIES)
        load_rm(str(folder))


def test_largest_change() -> None:
    before = worlds.table()
    now = copy.deepcopy(before)
    assert largest_change(before, now) == 0
    now["policies"]["policy"]["dune"] += 0.002
    assert largest_change(before, now) == pytest.approx(0.002)
    now["reward_models"]["rm_h1"]["planted"] = []
    assert largest_change(before, now) == float("inf")


# -- a derivation, with the two trainings replaced by copies


@pytest.fixture
def build(tmp_path: Path) -> Layout:
    arena = worlds.small_world(tmp_path / "build")
    shutil.rmtree(arena.folder)
    return arena.layout


@pytest.fixture
def trained(build: Layout, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was trained, in order; each training copies the shipped model."""
    done: list[str] = []

    def reward_model(world: Any, reference: Any, spec: Any, progress: Any = None) -> Any:
        done.append(spec.name)
        rm = load_rm(str(build.reward_model))[0]
        return SimpleNamespace(rm=rm, qa=[{"id": "ann-1"}], learned=[])

    def strong(self: Derivation, outs: dict[int, Path]) -> None:
        for seed, out in outs.items():
            done.append(f"strong {seed}")
            shutil.copytree(build.runs / ("fourfam-s800", "kl05-s800", "default-s800")[seed], out)

    monkeypatch.setattr(derive, "train_reward_model", reward_model)
    monkeypatch.setattr(Derivation, "_train_all", strong)
    return done


EVERYTHING = ["rm_h1", "rm_h2", "rm_h3", "rm_h4", "strong 0", "strong 1", "strong 2"]


def _derive(build: Layout, folder: Path) -> dict[str, Any]:
    with Narrator() as narrator:
        return Derivation(Arena(build, folder), narrator).run()


def test_derives_everything_once_and_keeps_the_best_seed(
    build: Layout, trained: list[str], tmp_path: Path
) -> None:
    found = _derive(build, tmp_path / "T")
    assert trained == EVERYTHING
    scores = found["strong"]["Q"]
    assert found["strong"]["seed"] == int(max(scores, key=lambda seed: scores[seed]))
    _derive(build, tmp_path / "T")
    assert trained == EVERYTHING
    arena = arenas.at(tmp_path / "T")
    arena.check()
    assert arena.layout.root == build.root
    assert arena.truth().strong == found["policies"][STRONG]


def test_goes_on_where_it_was_interrupted(
    build: Layout, trained: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, real = _derive(build, tmp_path / "whole"), derive.train_reward_model
    trained.clear()

    def dies(world: Any, reference: Any, spec: Any, progress: Any = None) -> Any:
        if spec.name == "rm_h3":
            raise KeyboardInterrupt
        return real(world, reference, spec, progress)

    monkeypatch.setattr(derive, "train_reward_model", dies)
    with pytest.raises(KeyboardInterrupt):
        _derive(build, tmp_path / "T")
    monkeypatch.setattr(derive, "train_reward_model", real)
    assert _derive(build, tmp_path / "T") == whole
    assert trained == EVERYTHING
    table = (tmp_path / "T" / TABLE).read_bytes()
    assert table == (tmp_path / "whole" / TABLE).read_bytes()


def test_refuses_the_truth_of_another_build(
    build: Layout, trained: list[str], tmp_path: Path
) -> None:
    _derive(build, tmp_path / "T")
    record = json.loads(build.record.read_text())
    record["world"]["seed"] = 5
    build.record.write_text(json.dumps(record))
    with pytest.raises(TruthError, match="truth of another build"):
        _derive(build, tmp_path / "T")


def test_truth_inside_a_build_moves_with_it(
    build: Layout, trained: list[str], tmp_path: Path
) -> None:
    _derive(build, build.root / arenas.INSIDE_BUILD)
    build.root.rename(tmp_path / "moved")
    arena = arenas.at(tmp_path / "moved")
    arena.check()
    assert arena.layout.root == tmp_path / "moved"
