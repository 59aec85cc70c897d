"""How parts add up to the reward, and that no answer breaks the scoring."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_truth import RUNS, TRUTH, flat

from grader import decision, diagnosis, progress, reporting
from grader.facts import Measured
from grader.grade import Grade
from grader.part import Component, Part, claims, skipped
from grader.sandbox.limits import Limits
from grader.snapshot import Snapshot, take
from grader.submission import Submission
from rlhf.vocab import FAMILIES


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
