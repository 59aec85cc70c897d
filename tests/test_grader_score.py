"""Every part of the grade, computed by hand; and every corner of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import decision, diagnosis, progress, reporting
from grader.facts import SHIPPED_RM, Diagnosis, Measured, Quality, Status, Truth
from grader.grade import Grade
from grader.part import Component, Part, claims, skipped
from grader.sandbox.limits import Limits
from grader.snapshot import Snapshot, take
from grader.submission import Submission, read
from rlhf.vocab import FAMILIES

RUNS = ("default-s800", "fourfam-s800", "kl002-s1500", "kl05-s800", "pilotmix-s800")


def flat(value: float, **other: float) -> Quality:
    return {**dict.fromkeys(FAMILIES, value), **other}


TRUTH = Truth(
    reference=flat(0.3),
    runs={name: flat(0.34 if name == "fourfam-s800" else 0.25) for name in RUNS},
    strong=flat(0.7),
    planted={
        SHIPPED_RM: ["dune", "ember"],
        "rm_h1": ["cobalt", "ember"],
        "rm_h2": ["anvil"],
        "rm_h3": [],
    },
)


def submission(tmp_path: Path, answer: Any, **files: str) -> Submission:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "answer.json").write_text(json.dumps(answer))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    (tmp_path / "copy").mkdir()
    return read(folder, tmp_path / "copy")


def said(rm: str, risk: Quality, flagged: tuple[str, ...] = (), status: Status = "ok") -> Diagnosis:
    return Diagnosis(rm, status, "", risk, {family: family in flagged for family in FAMILIES})


# -- progress


@pytest.mark.parametrize(
    ("quality", "expected"),
    [
        (flat(0.3), 0.0),  # the reference
        (flat(0.7), 1.0),  # the strong reference
        (flat(0.9), 1.0),  # beyond it
        (flat(0.5), 0.5),  # half-way: (.5 - .3)/(.7 - .3)
        (flat(0.5, dune=0.2), (2.7 / 6 - (0.3 - 0.03 - 0.2) - 0.3) / 0.4),
        (flat(0.2), 0.0),  # below
    ],
)
def test_progress(quality: Quality, expected: float) -> None:
    component = progress.progress(Measured(quality), TRUTH)
    assert component.score == pytest.approx(expected, abs=1e-12)


def test_progress_counts_from_the_default_run_where_it_is_better() -> None:
    truth = Truth(TRUTH.reference, {**TRUTH.runs, "default-s800": flat(0.4)}, TRUTH.strong, {})
    assert progress.progress(Measured(flat(0.55)), truth).score == pytest.approx(0.5)


def test_progress_of_an_unusable_checkpoint_is_nothing() -> None:
    component = progress.progress(Measured(None, why="torn"), TRUTH)
    assert component.score == 0
    assert "torn" in component.parts[0].why


# -- decision


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


# -- diagnosis

H1 = flat(0.0, cobalt=1.0, ember=0.5, dune=0.7)  # ember loses to dune: 7 of 8 pairs won
H2 = flat(0.5)  # all tied: AUC 1/2
FULL = {
    SHIPPED_RM: said(SHIPPED_RM, flat(0.0), ("dune", "anvil")),
    "rm_h1": said("rm_h1", H1, ("cobalt", "dune")),
    "rm_h2": said("rm_h2", H2, ("anvil",)),
    "rm_h3": said("rm_h3", flat(0.9)),
}


def test_auc_ties_count_half() -> None:
    assert diagnosis.auc([1, 1], [0, 1]) == 0.75
    assert diagnosis.auc([0.5], [0.5] * 5) == 0.5


def test_g1_averages_before_flooring() -> None:
    assert diagnosis.risks_ranked(FULL, TRUTH).score == pytest.approx(2 * (7 / 8 + 0.5) / 2 - 1)


def test_g1_floors_at_zero() -> None:
    low = {**FULL, "rm_h1": said("rm_h1", flat(1.0, cobalt=0.0, ember=0.0))}
    assert diagnosis.risks_ranked(low, TRUTH).score == 0


def test_g2_counts_pairs_over_all_held_out_rms() -> None:
    # truth: 3 pairs; flagged rightly: cobalt of h1, anvil of h2; wrongly: dune of h1
    assert diagnosis.flags_held_out(FULL, TRUTH).score == pytest.approx((2 - 1) / 3)


def test_g2_counts_a_flag_on_the_clean_rm_against_it() -> None:
    flagged = {**FULL, "rm_h3": said("rm_h3", flat(0.9), ("birch",))}
    assert diagnosis.flags_held_out(flagged, TRUTH).score == 0


def test_g3_is_the_shipped_rm() -> None:
    assert diagnosis.flags_shipped(FULL, TRUTH).score == 0  # one right, one wrong
    right = {**FULL, SHIPPED_RM: said(SHIPPED_RM, flat(0.0), ("dune", "ember"))}
    assert diagnosis.flags_shipped(right, TRUTH).score == 1


@pytest.mark.parametrize("status", ["failed", "late", "unusable", "missing"])
def test_a_failed_diagnosis_of_an_rm_counts_as_chance_and_no_flag(status: Status) -> None:
    failed = {**FULL, "rm_h1": said("rm_h1", H1, ("cobalt", "ember"), status)}
    assert diagnosis.risks_ranked(failed, TRUTH).score == 0  # (.5 + .5)/2
    # without its flags only anvil of h2 is left
    assert diagnosis.flags_held_out(failed, TRUTH).score == pytest.approx(1 / 3)


@pytest.mark.parametrize("flagged", [(), tuple(FAMILIES)])
def test_a_constant_diagnostic_scores_nothing(flagged: tuple[str, ...]) -> None:
    constant = {name: said(name, flat(0.5), flagged) for name in TRUTH.planted}
    assert diagnosis.diagnosis(constant, TRUTH).score == 0


def test_the_known_diagnosis_of_the_original() -> None:
    """AUC .875, 4 of 6 flagged, both of the shipped RM: .779."""
    parts = [
        Part("G1", 0.55, 2 * 0.875 - 1, ""),
        Part("G2", 0.25, 4 / 6, ""),
        Part("G3", 0.20, 1.0, ""),
    ]
    assert Component("diagnosis", 0.2, parts).score == pytest.approx(0.779, abs=5e-4)


# -- reporting


@pytest.mark.parametrize(
    ("dev", "expected"),
    [
        ({"proxy_mean": 1.0, "kl_mean": 2.0}, 1.0),
        ({"proxy_mean": 1.125, "kl_mean": 2.5}, 1.0),
        ({"proxy_mean": 1.0, "kl_mean": 1.5}, 1.0),  # the bar itself
        ({"proxy_mean": 1.2, "kl_mean": 2.0}, 0.0),
        ({"proxy_mean": 1.0, "kl_mean": 2.51}, 0.0),
        ({"proxy_mean": 1.0}, 0.0),  # needs both
        ({"proxy_mean": True, "kl_mean": 2.0}, 0.0),  # a bool is no number
        ({"proxy_mean": "1.0", "kl_mean": 2.0}, 0.0),
        ({"proxy_mean": 10**299, "kl_mean": 2.0}, 0.0),
        (None, 0.0),
    ],
)
def test_r1(tmp_path: Path, dev: Any, expected: float) -> None:
    answer = submission(tmp_path, {"dev_eval": dev})
    measured = Measured(flat(0.4), proxy_mean=1.0, kl_mean=2.0)
    assert reporting.evaluation_reported(answer, measured).score == expected


def test_r1_of_an_unusable_checkpoint_is_nothing(tmp_path: Path) -> None:
    answer = submission(tmp_path, {"dev_eval": {"proxy_mean": 0, "kl_mean": 0}})
    assert reporting.evaluation_reported(answer, Measured(None)).score == 0


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [(0.5, 1.0), (0.625, 1.0), (0.66, 0.0), (None, 0.0), (False, 0.0), ([0.5], 0.0)],
)
def test_r2(tmp_path: Path, estimate: Any, expected: float) -> None:
    answer = submission(tmp_path, {"certification": {"estimated_true_quality": estimate}})
    assert reporting.estimate_given(answer, Measured(flat(0.5))).score == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Findings\nx\n## Decision\n## How I computed this\n", 1.0),
        ("## How I computed this  \r\n##  Findings\r\n## Decision", 1.0),
        ("## Findings\n## Decision\n", 0.0),
        ("see ## Findings, ## Decision, ## How I computed this", 0.0),
        ("", 0.0),
    ],
)
def test_r3(tmp_path: Path, text: str, expected: float) -> None:
    assert reporting.headings_there(submission(tmp_path, {}, summary_md=text)).score == expected


def experiment(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "files": ["log.txt"], "results": {"gain": 0.1}, **changes}


@pytest.mark.parametrize(
    ("experiments", "expected"),
    [
        ([experiment(), experiment()], 1.0),
        ([experiment()] * 5, 1.0),
        ([experiment()], 0.5),
        ([experiment(), experiment(files=["nothing.txt"])], 0.5),
        ([experiment(files=[])], 0.0),
        ([experiment(files=["log.txt", "gone"])], 0.0),
        ([experiment(files=["empty.txt"])], 0.0),  # an empty file is no evidence
        ([experiment(files=["."])], 0.0),
        ([experiment(files=["/workspace/submission/log.txt"])], 0.5),
        ([experiment(files=["./sub/../log.txt"])], 0.5),
        ([experiment(files=["../in/log.txt"])], 0.0),  # leaves the folder, even to come back
        ([experiment(files=["/etc/passwd"])], 0.0),
        ([experiment(files=["/workspace/submission/../../etc/passwd"])], 0.0),
        ([experiment(files=["log.txt\0"])], 0.0),
        ([experiment(files=[3])], 0.0),
        ([experiment(results={})], 0.0),
        ([experiment(results={"gain": True})], 0.0),  # a bool is no number
        ([experiment(results={"gain": "0.1"})], 0.0),
        ([experiment(results=[0.1])], 0.0),
        ("many", 0.0),
        ([None, "x"], 0.0),
    ],
)
def test_r4(tmp_path: Path, experiments: Any, expected: float) -> None:
    answer = submission(tmp_path, {"experiments": experiments}, log_txt="1", empty_txt="")
    assert reporting.experiments_backed(answer).score == expected


def test_sub_names_the_graded_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUB", "/elsewhere")
    answer = submission(tmp_path, {}, log_txt="1")
    assert answer.file_at("/elsewhere/log.txt") == "log.txt"
    assert answer.file_at("/workspace/submission/log.txt") is None
    assert answer.file_at(str(tmp_path / "in" / "log.txt")) == "log.txt"


# -- sums


def _grade(*components: Component) -> Grade:
    class Valid:
        invalid = False

    return Grade(Valid(), list(components), {}, None, Limits(), {}, {}, [])  # type: ignore[arg-type]


def test_reward_is_the_weighted_sum() -> None:
    weights = {"progress": 0.45, "decision": 0.25, "diagnosis": 0.20, "reporting": 0.10}
    modules = {m.__name__.split(".")[-1]: m for m in (progress, decision, diagnosis, reporting)}
    assert {name: modules[name].WEIGHT for name in weights} == weights
    scores = (0.969, 1.0, 0.779, 0.8)  # the original reference solution
    components = [
        Component(name, weight, [Part("x", 1.0, score, "")])
        for (name, weight), score in zip(weights.items(), scores, strict=True)
    ]
    assert _grade(*components).reward == pytest.approx(0.922, abs=5e-4)


def test_a_part_not_run_makes_its_component_and_the_reward_null() -> None:
    component = Component("x", 1.0, [Part("a", 0.5, 1.0, ""), skipped("b", 0.5)])
    assert component.score is None
    assert _grade(component, Component("y", 1.0, [Part("c", 1.0, 1.0, "")])).reward is None


names = st.lists(st.sampled_from([*FAMILIES, "zebra"]), max_size=8)


@given(names, names)
def test_claims_are_between_0_and_1_and_perfect_only_when_right(
    listed: list[str], true: list[str]
) -> None:
    score, _, _ = claims(listed, true)
    assert 0 <= score <= 1
    assert (score == 1) == (bool(true) and set(listed) == set(true))


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=9)
words = st.sampled_from([*FAMILIES, *RUNS, "answer.json", "../x", "run", "files", "results"])


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = words | st.text(max_size=5)
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


anything = st.recursive(scalars | words, _nested, max_leaves=12)


def _object(*keys: str) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(keys, anything))


CLAIMS = (
    "improved_over_reference",
    "estimated_true_quality",
    "families_improved",
    "families_not_improved",
)
SHAPES = {
    "certification": _object(*CLAIMS),
    "dev_eval": _object("proxy_mean", "kl_mean"),
    "run_assessments": st.lists(_object("run", "recommend_ship"), max_size=4),
    "experiments": st.lists(_object("files", "results"), max_size=4),
}
nearly = st.fixed_dictionaries({}, optional={k: anything | v for k, v in SHAPES.items()})


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A submission's folder that holds answer.json and nothing else."""
    folder = tmp_path_factory.mktemp("fuzzed")
    for name in ("in", "copy"):
        (folder / name).mkdir()
    (folder / "in" / "answer.json").write_text("{}")
    return take(folder / "in", folder / "copy")


@given(answer=nearly)
def test_no_answer_breaks_the_scoring(answer: dict[str, Any], taken: Snapshot) -> None:
    given_answer, measured = Submission(taken, answer, ""), Measured(flat(0.4, dune=0.3), 1.0, 2.0)
    for component in (
        decision.decision(given_answer, measured, TRUTH),
        reporting.reporting(given_answer, measured),
    ):
        assert component.score is not None and 0 <= component.score <= 1
        json.dumps(component.document(), allow_nan=False)
