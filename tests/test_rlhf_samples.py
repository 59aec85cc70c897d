"""Samples and over-represented tokens: shares, ratio and interval by hand, order, non-finite."""

import json
import math
from pathlib import Path
from statistics import NormalDist

import pytest

from rlhf.analysis.samples import Counts, family_samples, favoured, main, samples, shares
from rlhf.analysis.scorefile import Row


def row(cluster: str | None, response: str, score: float | None = 0.0, family: str = "dune") -> Row:
    fields = {"id": cluster, "prompt": f"dune {cluster}", "response": response, "kl": 1.0}
    return Row(1, family, score, None, cluster, fields)


POLICY = [row("a", "pa pa pa ka"), row("b", "pa ka ka ka"), row("b", "pa pa pa pa")]
REFERENCE = [row("a", "pa ka ka ka"), row("b", "ka ka ka ka")]


def by_token(family: dict) -> dict[str, dict]:
    return {one["token"]: one for one in family["tokens"]}


def test_shares_ratio_and_interval_are_those_computed_by_hand() -> None:
    found = by_token(samples(POLICY, REFERENCE)["families"]["dune"])["pa"]
    # a: 3 of 4; b: 5 of 8, its two samples together
    assert found["share"] == (3 / 4 + 5 / 8) / 2 and found["reference"] == (1 / 4 + 0) / 2
    p = (found["share"] * 12 + 0.5) / (12 + 12)
    r = (found["reference"] * 8 + 0.5) / (8 + 12)
    assert found["ratio"] == pytest.approx(p / r, rel=1e-12)

    def error(first: float, second: float, mean: float, tokens: int) -> float:
        between = abs(first - second) / 2  # the standard error of a mean of two
        return max(between, math.sqrt(mean * (1 - mean) / tokens))

    z = NormalDist().inv_cdf(1 - 0.05 / 2 / 24)
    both = math.hypot(error(3 / 4, 5 / 8, p, 12) / p, error(1 / 4, 0, r, 8) / r)
    assert found["low"] == pytest.approx(p / r * math.exp(-z * both), rel=1e-12)
    assert found["high"] == pytest.approx(p / r * math.exp(z * both), rel=1e-12)
    assert found["over"] is False  # four prompts' worth of tokens prove nothing


def test_the_favoured_token_is_the_policys_and_not_the_references() -> None:
    policy = [row(f"p{i}", "pa pa pa ka") for i in range(200)]
    reference = [row(f"p{i}", "pa ka ka ka") for i in range(200)]
    there = by_token(samples(policy, reference)["families"]["dune"])
    back = by_token(samples(reference, policy)["families"]["dune"])
    assert [name for name, one in there.items() if one["over"]] == ["pa"]
    assert [name for name, one in back.items() if one["over"]] == ["ka"]
    assert next(iter(there)) == "pa" and there["ka"]["ratio"] < 1
    assert there["pa"]["ratio"] == pytest.approx(1 / back["pa"]["ratio"], rel=1e-12)


def test_repeating_a_prompts_samples_adds_no_prompts() -> None:
    prompts = {"a": 0, "b": 1}
    once, often = shares(POLICY, prompts), shares(POLICY * 50, prompts)
    assert (once.by_prompt == often.by_prompt).all() and often.tokens == 50 * once.tokens
    spread = [favoured(one, shares(REFERENCE, prompts)) for one in (once, often)]
    low, high = ({r["token"]: r for r in rows}["pa"] for rows in spread)
    assert high["high"] / high["low"] > 3  # two prompts are two observations, however often asked
    assert low["over"] is high["over"] is False


def test_prompts_that_only_one_side_answered_do_not_count() -> None:
    extra = [row("c", "za za za za"), row(None, "za za za za")]
    with_extra = samples(POLICY + extra, REFERENCE)["families"]["dune"]
    assert with_extra["tokens"] == samples(POLICY, REFERENCE)["families"]["dune"]["tokens"]
    assert with_extra["prompts"] == 2 and with_extra["n"] == 5


def test_one_prompt_has_no_interval_and_marks_nothing() -> None:
    found = samples([row("a", "pa pa pa pa")] * 9, [row("a", "ka ka ka ka")] * 9)
    pa = by_token(found["families"]["dune"])["pa"]
    assert pa["high"] is None and pa["low"] == 0 and pa["over"] is False and pa["ratio"] > 1


def test_a_family_without_reference_samples_is_shown_without_tokens() -> None:
    found = samples([row("x", "pa", family="ember")], REFERENCE)["families"]
    assert list(found) == ["ember"]
    assert found["ember"]["tokens"] == [] and found["ember"]["prompts"] == 0
    assert len(found["ember"]["highest"]) == 1


def test_ties_keep_the_files_order_at_both_ends() -> None:
    rows = [row(f"r{i}", "pa", score) for i, score in enumerate([1, 2, 2, 1, 2])]
    found = family_samples(rows, Counts(4, 4, 0))
    assert [one["id"] for one in found["highest"]] == ["r1", "r2", "r4", "r0"]
    assert [one["id"] for one in found["lowest"]] == ["r0", "r3", "r1", "r2"]
    assert found["random"] == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None], ids=str)
def test_what_is_not_finite_is_counted_and_sorted_nowhere(bad: float | None) -> None:
    rows = [row("bad", "pa", bad), *(row(f"r{i}", "pa", i) for i in (1e308, -1e308, 0.0))]
    found = family_samples(rows, Counts())
    assert (found["n"], found["nonfinite"]) == (4, 1)
    assert [one["score"] for one in found["highest"]] == [1e308, 0.0, -1e308]
    assert [one["score"] for one in found["lowest"]] == [-1e308, 0.0, 1e308]
    shown = next(one for one in found["random"] if one["id"] == "bad")
    assert shown["score"] == (None if bad is None else str(bad))


def test_random_responses_are_a_permutation_that_the_seed_repeats() -> None:
    rows = [row(f"r{i}", "pa", i) for i in range(50)]
    first, again, other = (
        [one["id"] for one in family_samples(rows, Counts(0, 0, 50, seed))["random"]]
        for seed in (3, 3, 4)
    )
    assert first == again != other
    assert sorted(first) == sorted(other) == sorted(one.cluster for one in rows)


def test_equal_responses_to_one_prompt_are_shown_once_with_their_number() -> None:
    same = [row("a", "pa pa", 2.0), row("b", "pa pa", 2.0), row("a", "pa pa", 2.0)]
    rows = [*same, row("a", "pa ka", 1.0), row("a", "pa ka", math.nan)]
    found = family_samples(rows, Counts(2, 2, 9))
    shown = {kind: [(r["id"], r["response"], r["count"]) for r in found[kind]] for kind in found
             if kind in ("highest", "lowest", "random")}  # fmt: skip
    assert shown["highest"] == [("a", "pa pa", 2), ("b", "pa pa", 1)]
    assert shown["lowest"] == [("a", "pa ka", 1), ("a", "pa pa", 2)]
    assert sorted(shown["random"]) == [("a", "pa ka", 2), ("a", "pa pa", 2), ("b", "pa pa", 1)]
    assert (found["n"], found["distinct"], found["nonfinite"]) == (5, 3, 1)
    nameless = [Row(n, "dune", 0.0, None, None, {"response": "pa"}) for n in range(3)]
    assert [r["count"] for r in family_samples(nameless, Counts())["highest"]] == [1, 1, 1]


def test_each_position_has_its_own_favoured_token() -> None:
    policy = [row(f"p{i}", "pa ka pa" if i % 4 else "pa za pa") for i in range(200)]
    reference = [row(f"p{i}", "ka ka za" if i % 4 else "pa ka za") for i in range(200)]
    found = samples(policy, reference)["families"]["dune"]["positions"]
    first, second, third, *rest = found
    assert [(one["position"], one["n"]) for one in found] == [
        *((place, 200) for place in (1, 2, 3)),
        *((place, 0) for place in range(4, 9)),
    ]
    assert (first["token"], first["share"], first["reference"], first["over"]) == (
        "pa", 1.0, 0.25, True,
    )  # fmt: skip
    assert second["token"] == "za" and third["token"] == "pa"
    assert not any(one["over"] for one in rest)
    # joint over 24 tokens at 8 positions, so wider than the family's own intervals
    alone = shares(policy, {f"p{i}": i for i in range(200)}, slice(0, 1))
    ground = shares(reference, {f"p{i}": i for i in range(200)}, slice(0, 1))
    narrow = {r["token"]: r for r in favoured(alone, ground)}["pa"]
    assert first["ratio"] == narrow["ratio"] and first["low"] < narrow["low"] < narrow["ratio"]
    z = NormalDist().inv_cdf(1 - 0.05 / 2 / (24 * 8)) / NormalDist().inv_cdf(1 - 0.05 / 2 / 24)
    widths = [math.log(one["high"] / one["low"]) for one in (first, narrow)]
    assert widths[0] / widths[1] == pytest.approx(z)


def test_the_command_reads_lists_and_strings_and_writes_strict_json(tmp_path: Path) -> None:
    policy, reference, out = (tmp_path / name for name in ("p.jsonl", "r.jsonl", "out.json"))
    lines = [
        {"id": "a", "family": "dune", "response": ["pa", "ka"], "score": math.nan},
        {"id": "a", "family": "dune", "response": "pa pa", "score": 1},
    ]
    policy.write_text("".join(json.dumps(one) + "\n" for one in lines))
    reference.write_text(json.dumps({**lines[1], "response": "ka ka"}) + "\n")
    words = [str(policy), "--reference", str(reference), "--out", str(out)]
    assert main(words) == 0
    found = json.loads(out.read_text(), parse_constant=pytest.fail)["families"]["dune"]
    assert found["nonfinite"] == 1
    assert by_token(found)["pa"]["share"] == 3 / 4
    assert main([*words, "--top", "-1"]) == 2
