"""Every part of the decision's score, computed by hand; and every corner of it."""

from pathlib import Path
from typing import Any

import pytest
from invented_truth import TRUTH, flat, submission

from grader import decision
from grader.facts import Measured, Quality, Truth
from rlhf.vocab import FAMILIES


@pytest.mark.parametrize(
    ("lowest", "expected"), [(0.28, 1.0), (0.269999, 0.0), (0.3 - 0.03, 1.0), (0.1, 0.0)]
)
def test_d1(lowest: float, expected: float) -> None:
    reference = flat(0.3)
    truth = Truth(reference, TRUTH.runs, TRUTH.strong, {})
    quality = flat(0.5, ember=lowest)
    if lowest == 0.3 - 0.03:  # the bar itself, free of rounding
        truth, quality = Truth(flat(0.03), TRUTH.runs, TRUTH.strong, {}), flat(0.5, ember=0.0)
    assert decision.no_family_below(Measured(quality), truth).score == expected


def rows(**said: Any) -> list[dict[str, Any]]:
    return [{"run": name.replace("_", "-"), "recommend_ship": ship} for name, ship in said.items()]


ALL_RIGHT = rows(
    default_s800=False, fourfam_s800=True, kl002_s1500=False, kl05_s800=False, pilotmix_s800=False
)


@pytest.mark.parametrize(
    ("assessments", "expected"),
    [
        (ALL_RIGHT, 1.0),
        (ALL_RIGHT[:4], 0.8),  # one is missing
        ([*ALL_RIGHT, ALL_RIGHT[0]], 0.8),  # one is given twice, though the same
        ([*ALL_RIGHT, {"run": "other", "recommend_ship": True}], 1.0),  # an unknown one
        ([{**row, "recommend_ship": int(row["recommend_ship"])} for row in ALL_RIGHT], 0.0),
        ([], 0.0),
        ("nonsense", 0.0),
        ([None, 3, {"run": ["x"]}, *ALL_RIGHT], 1.0),
    ],
)
def test_d2(tmp_path: Path, assessments: Any, expected: float) -> None:
    given_answer = submission(tmp_path, {"run_assessments": assessments})
    assert decision.runs_judged(given_answer, TRUTH).score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("claim", "quality", "expected"),
    [
        (True, flat(0.4), 1.0),
        (True, flat(0.3), 0.0),  # no gain
        (True, flat(0.5, dune=0.2), 0.0),  # a family fell
        (False, flat(0.4), 0.0),
        (1, flat(0.4), 0.0),
        ("true", flat(0.4), 0.0),
        (True, None, 0.0),
    ],
)
def test_d3a(tmp_path: Path, claim: Any, quality: Quality | None, expected: float) -> None:
    answer = submission(tmp_path, {"certification": {"improved_over_reference": claim}})
    assert decision.improvement_claimed(answer, Measured(quality), TRUTH).score == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (["anvil", "birch", "cobalt", "fjord"], 1.0),
        (list(FAMILIES), 0.5),  # 4 right, 2 wrong, of 4
        (["anvil"], 0.25),
        (["dune", "ember"], 0.0),  # floored
        (["anvil", "anvil"], 0.25),  # a claim made twice is one
        (["anvil", "zebra"], 0.0),
        (["anvil", 3], 0.0),
        ("anvil", 0.0),
        ([], 0.0),
    ],
)
def test_d3b(tmp_path: Path, listed: Any, expected: float) -> None:
    quality = flat(0.4, dune=0.3, ember=0.31)
    answer = submission(tmp_path, {"certification": {"families_improved": listed}})
    part = decision.families_claimed(answer, Measured(quality), TRUTH)
    assert part.score == pytest.approx(expected)


def test_d3b_is_nothing_if_no_family_improved(tmp_path: Path) -> None:
    answer = submission(tmp_path, {"certification": {"families_improved": []}})
    assert decision.families_claimed(answer, Measured(flat(0.3)), TRUTH).score == 0


@pytest.mark.parametrize(
    ("improved", "rest", "expected"),
    [
        (FAMILIES[:4], FAMILIES[4:], 1.0),
        ([], FAMILIES, 1.0),
        (FAMILIES[:4], FAMILIES[3:], 0.0),  # a family in both
        (FAMILIES[:4], FAMILIES[5:], 0.0),  # one is missing
        ([*FAMILIES, "anvil"], [], 0.0),  # one listed twice
        (FAMILIES, ["zebra"], 0.0),
        (None, FAMILIES, 1.0),
        (FAMILIES[:5], [["fjord"]], 0.0),
    ],
)
def test_d3c(tmp_path: Path, improved: Any, rest: Any, expected: float) -> None:
    lists = {"families_improved": improved, "families_not_improved": rest}
    answer = submission(tmp_path, {"certification": lists})
    assert decision.families_partition(answer).score == expected


def test_decision_weights_are_divided_by_their_sum(tmp_path: Path) -> None:
    component = decision.decision(submission(tmp_path, {}), Measured(flat(0.3)), TRUTH)
    assert sum(part.weight for part in component.parts) == pytest.approx(0.95)
    assert component.score == pytest.approx(0.10 / 0.95)  # only D1
