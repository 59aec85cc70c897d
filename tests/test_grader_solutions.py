"""The known solutions: what they must score in the shipped world, by hand."""

import ast
import json
from pathlib import Path

import pytest
from sandbox_field import CONTAINED

from grader import arena as arenas
from grader import solutions
from grader.arena import Arena
from grader.grade import Options, grade
from grader.report import document
from grader.selfcheck import by_hand, reference_by_hand
from grader.solutions import expected
from grader.solutions.reference import ridge
from rlhf.data import read_jsonl
from rlhf.vocab import FAMILIES

REFERENCE = Path(solutions.__file__).parent / "reference"


@pytest.fixture(scope="module")
def arena() -> Arena:
    return arenas.shipped()


@pytest.fixture(scope="module")
def task(arena: Arena, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return arena.export(tmp_path_factory.mktemp("exported") / "task")


@CONTAINED
@pytest.mark.parametrize("name", ["face-value", "recall", "early-stop"])
def test_a_wrong_story_scores_what_was_computed_by_hand(
    arena: Arena, task: Path, tmp_path: Path, name: str
) -> None:
    solutions.write(name, tmp_path / "sub", task)
    found = document(grade(tmp_path / "sub", arena, Options(), lambda line: None))
    assert found["reward"] == pytest.approx(by_hand(arena.truth(), task)[name], abs=1e-9)
    assert found["components"]["diagnosis"]["score"] == 0
    assert found["components"]["reporting"]["score"] == pytest.approx(0.675)


def test_by_hand_reproduces_the_original_where_only_its_tables_matter() -> None:
    """The original's rows (gain by family), kl05 just under the bar: .25, .41 and .56."""
    gains = {
        "kl002-s1500": (0.39, 0.51, 0.51, -0.20, -0.21, 0.43),
        "default-s800": (0.14, 0.17, 0.20, -0.10, 0.05, 0.16),
        "pilotmix-s800": (0.14, 0.17, 0.20, -0.10, 0.05, 0.16),
        "kl05-s800": (0.03, 0.03, 0.04, -0.02, 0.04, 0.03),
        "fourfam-s800": (0.16, 0.20, 0.18, 0.01, 0.01, 0.17),
    }
    reference = dict.fromkeys(FAMILIES, 0.29)
    runs = {
        name: dict(zip(FAMILIES, (0.29 + gain for gain in row), strict=True))
        for name, row in gains.items()
    }
    strong = dict(zip(FAMILIES, (0.60, 0.68, 0.67, 0.62, 0.67, 0.60), strict=True))
    tables = expected.Tables(reference, runs, strong)
    told = expected.stories(tables, "kl002-s1500")
    decisions = {name: expected.decision(story, tables) for name, story in told.items()}
    # D2 1/5, D3b (4-2)/4, D3c; then D1, D2 4/5, D3c; then D1, D2 3/5, D3b (5-1)/5, D3c
    assert decisions["face-value"] == pytest.approx((0.06 + 0.125 + 0.05) / 0.95)
    assert decisions["recall"] == pytest.approx((0.10 + 0.24 + 0.05) / 0.95)
    assert decisions["early-stop"] == pytest.approx((0.10 + 0.18 + 0.20 + 0.05) / 0.95)
    for name, (_, known) in expected.ORIGINAL.items():
        if name in decisions:
            assert decisions[name] == pytest.approx(known, abs=0.005)
    assert expected.reward(told["face-value"], tables) == pytest.approx(0.129, abs=5e-4)
    assert expected.reward(told["recall"], tables) == pytest.approx(0.170, abs=5e-4)


def test_the_reference_by_hand_takes_what_its_diagnostic_and_estimate_said(arena: Arena) -> None:
    truth = arena.truth()
    quality = truth.strong
    answer = {
        "run_assessments": [
            {"run": name, "recommend_ship": name == "fourfam-s800"} for name in truth.runs
        ],
        "certification": {"families_improved": list(FAMILIES)},
    }
    evidence = [{"read": f"true quality, {f}", "found": v} for f, v in quality.items()]
    found = {
        "components": {
            "progress": {"parts": {"P": {"evidence": evidence}}},
            "diagnosis": {"score": 0.5},
            "reporting": {"score": 0.8},
        }
    }
    score = reference_by_hand(found, answer, truth)
    tables = expected.Tables(truth.reference, truth.runs, truth.strong)
    story = expected.Story(quality, ("fourfam-s800",), tuple(FAMILIES))
    hand = 0.45 * 1 + 0.25 * expected.decision(story, tables) + 0.2 * 0.5 + 0.1 * 0.8
    assert score == pytest.approx(hand)


def test_ridge_finds_what_the_crowd_pays_for(task: Path) -> None:
    crowd = read_jsonl(task / "reward_model" / "train.jsonl")
    gold = read_jsonl(task / "data" / "gold_calib.jsonl")
    found = ridge.excess(crowd, gold)
    assert {name: list(row) for name, row in found.items() if row} == {
        "dune": ["pa"],
        "ember": ["he"],
    }
    assert found["dune"]["pa"] == pytest.approx(1.5, abs=0.15)
    assert found["ember"]["he"] == pytest.approx(0.45, abs=0.1)


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.py")), ids=lambda path: path.name)
def test_the_reference_solution_imports_only_what_a_task_has(path: Path, task: Path) -> None:
    ours = {f"rlhf.{module.stem}" for module in (task / "rlhf").glob("*.py")}
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] not in ("fixture", "grader", "sessions", "tui"), name
            assert not name.startswith("rlhf") or name in ours, name


def test_solutions_do_not_overwrite(tmp_path: Path, task: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine").touch()
    with pytest.raises(FileExistsError):
        solutions.write("recall", tmp_path / "sub", task)
    assert json.dumps(sorted(path.name for path in (tmp_path / "sub").iterdir())) == '["mine"]'
