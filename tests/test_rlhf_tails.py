"""Tails: figures by hand, what they must withstand, and when a reference stands beside."""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_files import one_file, values_of, write_rows

from rlhf.analysis import scores, tails
from rlhf.analysis.scorefile import Row
from rlhf.analysis.tail_figures import ENOUGH, HEAVY, NO_EVIDENCE, QUANTILES, figures

HUGE = 1e308


def of_scores(values: list[float]) -> dict[str, Any]:
    """The figures of one family."""
    return tails.of_rows({"dune": values})["families"]["dune"][0]


# -- figures ---------------------------------------------------------------------------------


def test_quantiles_worked_out_by_hand() -> None:
    one = of_scores([float(value) for value in range(2001)])
    assert values_of(one) == {"p50": 1000.0, "p90": 1800.0, "p99": 1980.0, "p99.5": 1990.0}
    assert one["iqr"] == 1000.0 and one["max"] == 2000.0
    assert one["tail_ratio"]["value"] == 0.99


def test_high_quantiles_are_withheld_below_2000_scores() -> None:
    rng = np.random.default_rng(0)
    few = of_scores(rng.normal(size=ENOUGH - 1).tolist())
    enough = of_scores(rng.normal(size=ENOUGH).tolist())
    assert few["quantiles"]["p99"] == {"value": None, "low": None, "high": None}
    assert few["tail_ratio"]["value"] is None and few["tail"] is None
    assert few["quantiles"]["p90"]["value"] is not None
    assert few["why"] == ["1999 scores: p99, p99.5 and the tail ratio need 2000"]
    assert enough["quantiles"]["p99.5"]["value"] is not None and enough["why"] == []


def test_a_heavy_tail_is_told_and_no_tail_is_called_light() -> None:
    rng = np.random.default_rng(1)
    assert of_scores(rng.standard_t(1.5, 4000).tolist())["tail"] == HEAVY
    for light in (rng.normal(size=4000), rng.uniform(size=4000), rng.exponential(size=4000)):
        assert of_scores(light.tolist())["tail"] == NO_EVIDENCE
    assert "light" not in NO_EVIDENCE


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(2), 0
    for seed in range(60):
        found = figures(rng.normal(size=2000), None, seed)["quantiles"]["p99"]
        hits += found["low"] <= statistics.NormalDist().inv_cdf(0.99) <= found["high"]
    assert 50 <= hits <= 60


def test_samples_of_one_prompt_make_an_interval_wider() -> None:
    rng = np.random.default_rng(3)
    prompts = np.repeat(np.arange(500), 4)
    values = rng.normal(size=500)[prompts] + 0.1 * rng.normal(size=2000)
    width = {}
    for name, clusters in (("apart", None), ("together", prompts)):
        found = figures(values, clusters)["quantiles"]["p50"]
        width[name] = found["high"] - found["low"]
    assert width["together"] > 1.5 * width["apart"]


def test_gold_of_the_highest_scores(tmp_path: Path) -> None:
    rows = [{"score": i, "gold": 0.0 if i >= 198 else 1.0} for i in range(200)]
    found = tails.tails([one_file(write_rows(tmp_path / "s.jsonl", rows))])
    assert found["families"]["all"][0]["gold"] == {
        "n": 200,
        "mean": 0.99,
        "top_n": 2,
        "top_mean": 0.0,
    }


def test_one_score_is_not_scores() -> None:
    assert of_scores([1.0])["why"][0].startswith("1 score: ")
    assert of_scores([1.0, 2.0])["why"][0].startswith("2 scores: ")


# -- what it must withstand ------------------------------------------------------------------

NAN, INF = math.nan, math.inf
HOSTILE = {  # the words: (scores, finite, tail ratio is there)
    "ties": ([0.0] * 1500 + [1.0] * 500, 2000, True),
    "ties in more than half": ([0.0] * 1600 + [1.0] * 400, 2000, False),
    "one distinct score": ([2.5] * 2000, 2000, False),
    "one score": ([1.0], 1, False),
    "all-NaN": ([NAN] * 2000, 0, False),
    "inf": ([INF] * 7 + [-INF] * 2 + [float(i) for i in range(2000)], 2000, True),
    "nothing but inf": ([INF] * 5, 0, False),
    "1e308 scores": ([HUGE, -HUGE] * 1000, 2000, False),
    "one 1e308 score": ([float(i) for i in range(2000)] + [HUGE], 2001, True),
    "1e308 and nothing else": ([HUGE] * 2000, 2000, False),
    "denormals": ([5e-324 * i for i in range(2000)], 2000, True),
}


@pytest.mark.parametrize("words", HOSTILE)
def test_it_withstands(words: str) -> None:
    values, finite, has_ratio = HOSTILE[words]
    found = tails.of_rows({"dune": values})
    one = found["families"]["dune"][0]
    assert one["n"] == len(values) and one["n_finite"] == finite
    assert one["nan"] == sum(map(math.isnan, values))
    assert one["pos_inf"] == values.count(INF) and one["neg_inf"] == values.count(-INF)
    assert sum(one["counts"]) == finite
    assert (one["tail_ratio"]["value"] is not None) == has_ratio
    assert has_ratio or one["why"]
    json.dumps(found, allow_nan=False)  # nothing that is not finite reaches a reader
    edges = found["edges"]
    assert edges == sorted(edges) and (not finite or edges[0] < edges[-1])


@pytest.mark.parametrize("words", [w for w, (_, finite, _) in HOSTILE.items() if finite])
def test_quantiles_are_numpys_also_of(words: str) -> None:
    known = np.array([value for value in HOSTILE[words][0] if math.isfinite(value)])
    with np.errstate(all="ignore"):
        expected = np.quantile(known, list(QUANTILES.values())).tolist()
    for found, wanted in zip(values_of(of_scores(known.tolist())).values(), expected, strict=True):
        assert found is None or not math.isfinite(wanted) or found == wanted


@pytest.mark.parametrize("above", [960, 961, 1042])
def test_an_interval_has_both_its_ends_at_any_size(above: int) -> None:
    scores = [1.7e308] * above + [-1.7e308] * (2001 - above)
    both = [tails.Source(name).take(tails_rows(scores)) for name in "ab"]
    found = tails.tails(both, reference=True)
    one = found["families"]["all"][1]
    for figure in one["quantiles"].values():
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert one["beside_reference"]["above_p99_5"]["value"] == 0
    assert one["beside_reference"]["median_shift"] is None  # their IQR is more than a float


def tails_rows(scores: list[float]) -> list[Row]:
    return [Row(line, "all", score, None, None, {}) for line, score in enumerate(scores, 2)]


def test_a_family_without_samples(tmp_path: Path) -> None:
    both = [{"family": f, "score": 1.0 * i} for f in ("dune", "ember") for i in range(10)]
    reference = one_file(write_rows(tmp_path / "a.jsonl", both))
    run = one_file(write_rows(tmp_path / "b.jsonl", both[:10]))
    found = tails.tails([reference, run], reference=True)
    missing = found["families"]["ember"][1]
    assert missing["n"] == 0 and sum(missing["counts"]) == 0
    assert missing["why"] == ["no scores"] and missing["beside_reference"] is None


def test_one_prompt_says_nothing_of_how_far_medians_may_lie_apart(tmp_path: Path) -> None:
    many = [{"id": str(i), "score": 0.1 * i} for i in range(20)]
    reference = one_file(write_rows(tmp_path / "a.jsonl", many))
    for rows in ([{"score": 9.0}], [{"id": "a", "score": 9.0}] * 4):
        run = one_file(write_rows(tmp_path / "b.jsonl", rows))
        figures = tails.tails([reference, run], reference=True)["families"]["all"][1]
        assert figures["quantiles"]["p50"] == {"value": 9.0, "low": None, "high": None}
        shift = figures["beside_reference"]["median_shift"]
        assert shift["value"] > 1 and shift["low"] is None and shift["high"] is None


def test_a_family_of_nan_only_beside_others() -> None:
    found = tails.of_rows({"dune": [NAN, NAN], "ember": [0.0, 1.0]})
    assert found["edges"][0] == 0.0 and found["edges"][-1] == 1.0
    assert found["families"]["dune"][0]["nan"] == 2


def test_a_score_that_is_not_finite_survives_being_written() -> None:
    for value in (NAN, INF, -INF):
        back = float(json.loads(json.dumps(scores.written(value), allow_nan=False)))
        assert back == value or (math.isnan(back) and math.isnan(value))


def test_files_of_unknown_prompts_have_no_reference_but_one_like_them() -> None:
    def source(*families: str) -> tails.Source:
        rows = [Row(1, family, 1.0, None, None, {}) for family in families]
        return tails.Source("x").take(rows)

    def found(*sources: tails.Source) -> tuple[Any, int]:
        document = tails.tails(sources, reference=True)
        return document["alone"], len(document["sources"])

    assert found(source("dune"), source("all")) == ("the file names no family: shown alone", 1)
    both = "the files name no family: shown without the reference"
    assert found(source("dune"), source("all"), source("all")) == (both, 2)
    assert found(source("dune"), source("all"), source("dune")) == (None, 3)
    assert found(source("all"), source("all")) == (None, 2)


def test_the_command_says_what_is_wrong_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tails.main([str(tmp_path / "none.jsonl")]) == 3
    assert "cannot read" in capsys.readouterr().err.splitlines()[-1]
