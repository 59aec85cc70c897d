"""Tails: figures against numpy and by hand, and every kind of score file that may be met."""

import gzip
import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TASK

from rlhf.analysis import score_rows, scorefile, scores, tails
from rlhf.analysis.scorefile import Row
from rlhf.analysis.tail_figures import ENOUGH, HEAVY, NO_EVIDENCE, QUANTILES, figures
from rlhf.data import load_prompts
from rlhf.errors import DataError
from rlhf.evaluate import load_models

HUGE = 1e308


def one_file(path: Path) -> tails.Source:
    return tails.read_source(str(path), path.name)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def of_scores(values: list[float]) -> dict[str, Any]:
    """The figures of one family."""
    return tails.of_rows({"dune": values})["families"]["dune"][0]


def values_of(one: dict[str, Any]) -> dict[str, float | None]:
    return {name: one["quantiles"][name]["value"] for name in QUANTILES}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Score files of the reference and of the best-proxy run, 2,000 a family."""
    folder, found = tmp_path_factory.mktemp("scores"), {}
    task = ("--policy-ref", str(TASK / "policy"), "--reward-model", str(TASK / "reward_model"))
    prompts = ("--prompts", str(TASK / "data" / "prompts_train.jsonl"))
    for name, policy in (("reference", TASK / "policy"), ("kl002", TASK / "runs/kl002-s1500")):
        found[name] = folder / f"{name}.jsonl"
        words = ["--policy", str(policy), *task, *prompts, "--out", str(found[name])]
        assert scores.main(words) == 0
    return found


@pytest.fixture(scope="module")
def document(recorded: dict[str, Path]) -> dict[str, Any]:
    return tails.tails([one_file(path) for path in recorded.values()], reference=True)


# -- figures ---------------------------------------------------------------------------------


def test_quantiles_worked_out_by_hand() -> None:
    one = of_scores([float(value) for value in range(2001)])
    assert values_of(one) == {"p50": 1000.0, "p90": 1800.0, "p99": 1980.0, "p99.5": 1990.0}
    assert one["iqr"] == 1000.0 and one["max"] == 2000.0
    assert one["tail_ratio"]["value"] == 0.99


def test_recorded_scores_have_numpys_quantiles_and_ratios(
    recorded: dict[str, Path], document: dict[str, Any]
) -> None:
    for place, path in enumerate(recorded.values()):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for family, found in document["families"].items():
            known = np.array([row["score"] for row in rows if row["family"] == family])
            assert len(known) == found[place]["n"] == 2000
            expected = np.quantile(known, list(QUANTILES.values())).tolist()
            assert list(values_of(found[place]).values()) == expected
            low, high = np.quantile(known, [0.25, 0.75]).tolist()
            ratio = (expected[3] - expected[0]) / (high - low)
            assert found[place]["tail_ratio"]["value"] == ratio
            assert found[place]["max"] == known.max()


def test_recorded_scores_are_counted_whole_on_one_axis(document: dict[str, Any]) -> None:
    edges = document["edges"]
    every = [one for found in document["families"].values() for one in found]
    assert all(sum(one["counts"]) == one["n_finite"] == one["n"] for one in every)
    assert edges[0] == min(one["min"] for one in every)
    assert edges[-1] == max(one["max"] for one in every)


def test_counts_are_numpys_histogram(recorded: dict[str, Path], document: dict[str, Any]) -> None:
    group = one_file(recorded["kl002"]).groups["dune"]
    expected = np.histogram(group.finite, np.array(document["edges"]))[0].tolist()
    assert document["families"]["dune"][1]["counts"] == expected


def test_dune_and_ember_stand_out_under_the_best_proxy_run(document: dict[str, Any]) -> None:
    shifts = {
        family: found[1]["beside_reference"]["median_shift"]["value"]
        for family, found in document["families"].items()
    }
    assert sorted(shifts, key=lambda family: -shifts[family])[:2] == ["dune", "ember"]
    assert shifts["ember"] > 2 * max(shifts[f] for f in ("anvil", "birch", "cobalt", "fjord"))
    assert document["families"]["dune"][0]["tail"] == HEAVY


def test_a_shift_has_an_interval(document: dict[str, Any]) -> None:
    for found in document["families"].values():
        shift = found[1]["beside_reference"]["median_shift"]
        assert shift["low"] < shift["value"] < shift["high"] < 1.2 * shift["low"]


def test_samples_come_as_the_trainer_draws_them() -> None:
    models = load_models(*(str(TASK / name) for name in ("policy", "policy", "reward_model")))
    records = load_prompts(TASK / "data" / "prompts_train.jsonl")
    rows = list(scores.score_rows(models, records, per_family=2, n=3, seed=1))
    assert [row["family"] for row in rows[:7]] == ["anvil"] * 6 + ["birch"]
    assert rows[0]["id"] == rows[2]["id"] != rows[3]["id"]
    assert all(np.float32(row["score"]) == row["score"] for row in rows)
    assert all(row["kl"] == 0 for row in rows)  # the reference against itself
    again = list(scores.score_rows(models, records, per_family=2, n=3, seed=1))
    assert rows == again


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


# -- files -----------------------------------------------------------------------------------

ROWS = [
    {"id": "p1", "family": "dune", "response": 'says "pa", pa', "score": 1.5, "gold": 0.25},
    {"id": "p1", "family": "dune", "response": "ba", "score": -2.0, "gold": 0.5},
    {"id": "p2", "family": "ember", "response": "two\nlines", "score": 3e-7, "gold": 1},
]
CSV = """score,id,family,gold,response
1.5,p1,dune,.25,"says ""pa"", pa"
-2.0,p1,dune,0.5,ba
3e-7,p2,ember,1,"two
lines"
"""


def test_a_csv_with_quotes_bom_and_other_column_order(tmp_path: Path) -> None:
    as_json = one_file(write_rows(tmp_path / "s.jsonl", ROWS))
    for text in (CSV, "\ufeff" + CSV, CSV.replace("score,", "SCORE ,"), CSV.replace("\n", "\r\n")):
        path = tmp_path / "s.csv"
        path.write_text(text, newline="")
        as_csv = one_file(path)
        assert as_csv.bad_lines == 0
        assert as_csv.groups == as_json.groups


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "is a JSON array; give one object a line (JSONL)"),
        ("1", "is not a JSON object"),
        ('{"family": "dune"}', "has no score"),
        ('{"score": "much"}', "score is 'much', not a number"),
        ('{"score": "1_000"}', "score is '1_000', not a number"),
        ('{"score": true}', "score is True, not a number"),
        ('{"score": [1]}', "score is [1], not a number"),
        ("[" * 50_000, "is not valid JSON"),
        ('{"score": "' + "x" * (1 << 20) + '"}', f"is longer than {1 << 20} characters"),
    ],
    ids=[
        "torn",
        "list",
        "bare",
        "no score",
        "word",
        "underscore",
        "bool",
        "array",
        "depth",
        "endless line",
    ],
)
@pytest.mark.parametrize("last", [False, True], ids=["in the middle", "as the last line"])
def test_bad_lines_are_named_with_their_number(
    tmp_path: Path, line: str, why: str, last: bool
) -> None:
    path = tmp_path / "s.jsonl"
    good = '{"score": 1}\n'
    path.write_text(good + line + ("" if last else "\n" + good))
    source = one_file(path)
    assert source.problems == [{"line": 2, "message": why}]
    assert source.groups["all"].n == (1 if last else 2)


def test_bad_lines_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("score,family\n1,dune\nhigh,dune\n2,dune,more\n,dune\n3,dune\n")
    source = one_file(path)
    assert [problem["line"] for problem in source.problems] == [3, 4]
    group = source.groups["dune"]
    assert (group.n, group.missing, list(group.scores)) == (3, 1, [1.0, 3.0])


def test_a_quote_that_nothing_closes_is_told_with_what_it_swallows(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text('score,response\n1,pa\n2,"ba\n' + "3,pa\n" * 2000)
    source = one_file(path)
    (problem,) = source.problems
    assert problem["line"] == 3 and "lines 3 to 2003 are lost" in problem["message"]
    assert source.groups["all"].n == 1


def test_a_csv_may_begin_with_empty_lines_and_end_with_none(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("\n\nscore,family\n1,dune\n2,dune")
    assert list(one_file(path).groups["dune"].scores) == [1.0, 2.0]


def test_a_prompt_may_be_called_0(tmp_path: Path) -> None:
    rows = [{"id": i // 4, "prompt": "p", "score": float(i)} for i in range(40)]
    assert tails.one(one_file(write_rows(tmp_path / "s.jsonl", rows)).groups["all"], None)[
        "prompts"
    ] == len({row["id"] for row in rows})
    unnamed = [{"id": "", "prompt": "p", "score": 1.0}]
    assert one_file(write_rows(tmp_path / "t.jsonl", unnamed)).groups["all"].unnamed == 0


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("NaN", "nan"),
        ('"nan"', "nan"),
        ("Infinity", "pos_inf"),
        ('"inf"', "pos_inf"),
        ("1e999", "pos_inf"),
        ("1" + "0" * 400, "pos_inf"),
        ("-Infinity", "neg_inf"),
        ("null", "missing"),
        ('""', "missing"),
    ],
)
def test_what_is_not_finite_is_counted_by_kind(tmp_path: Path, written: str, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"score": {written}}}\n{{"score": 1}}\n')
    one = tails.tails([one_file(path)])["families"]["all"][0]
    assert one[kind] == 1 and one["n"] == 2 and one["n_finite"] == 1


def test_a_score_that_is_not_finite_survives_being_written() -> None:
    for value in (NAN, INF, -INF):
        back = float(json.loads(json.dumps(scores.written(value), allow_nan=False)))
        assert back == value or (math.isnan(back) and math.isnan(value))


def test_no_family_column_is_one_group(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "s.jsonl", [{"score": 1}, {"score": 2, "family": None}])
    assert list(one_file(path).groups) == [scorefile.ONE_GROUP]


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


def test_families_of_any_kind_and_number(tmp_path: Path) -> None:
    odd = ["\x1b[2J", "", 7, "x" * 5000, {"a": 1}, "(other families)"]
    rows = [{"family": family, "score": 1.0} for family in [*odd, *range(10, 500)]]
    source = one_file(write_rows(tmp_path / "s.jsonl", rows))
    assert len(source.groups) <= tails.MOST_FAMILIES + 1
    assert sum(group.n for group in source.groups.values()) == len(rows)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.jsonl", "", "is empty"),
        ("s.csv", "scor,family\n1,dune\n", "has no column 'score' (did you mean 'scor'?)"),
        ("s.jsonl", "{\n", "holds no score: line 1 is not valid JSON"),
        ("s.csv", "score\n", "holds no score"),
    ],
)
def test_files_without_scores_are_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=words.replace("(", r"\(").replace("?)", r"\?\)")):
        one_file(tmp_path / name)


ARRAY = "is a JSON array; give one object a line (JSONL)"
UTF_16 = "is UTF-16: save it as UTF-8"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"score": 1}, {"score": 2}]\n', f" {ARRAY}"),
        (b'\xef\xbb\xbf[\n  {\n    "score": 1\n  }\n]\n', f" {ARRAY}"),
        (b"[\r\n1,\r\n2\r\n]", f" {ARRAY}"),
        (b"[]", f" {ARRAY}"),
        (b"[1, 2]\n", f" holds no score: line 1 {ARRAY}"),
        (gzip.compress(b"score\n1\n", mtime=0), " is compressed (gzip): unpack it first"),
        ("score\n1\n".encode("utf-16"), f" {UTF_16}"),
        (b"\xfe\xff" + "score\n1\n".encode("utf-16-be"), f" {UTF_16}"),
        (b"score;family\n1;dune\n", ": fields are separated by ';': use commas"),
        (b'"id";"Score"\n"a";1\n', ": fields are separated by ';': use commas"),
        (b"family\tscore\ndune\t1\n", ": fields are separated by tabs: use commas"),
        (b"score|id\n1|a\n", ": fields are separated by '|': use commas"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_what_it_is(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as refused:
        one_file(path)
    assert str(refused.value) == f"{path}{words}"


def test_one_score_is_not_scores() -> None:
    assert of_scores([1.0])["why"][0].startswith("1 score: ")
    assert of_scores([1.0, 2.0])["why"][0].startswith("2 scores: ")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"score": 1}\n\x00\xff\xfe\n{"score": 2}\n')
    source = one_file(tmp_path / "s.jsonl")
    assert source.bad_lines == 1 and source.groups["all"].n == 2


def test_permuted_and_padded_files_say_the_same(tmp_path: Path, recorded: dict[str, Path]) -> None:
    lines = recorded["kl002"].read_text().splitlines()
    lines = [line for line in lines if '"dune"' in line or '"ember"' in line]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    shuffled = [line[:-1] + ', "more": [1, 2]}\n\n' for line in lines]
    random.Random(0).shuffle(shuffled)
    (tmp_path / "b.jsonl").write_text("".join(shuffled))
    first, second = (tails.tails([one_file(tmp_path / f"{n}.jsonl")]) for n in "ab")
    assert first["edges"] == second["edges"]
    for family in ("dune", "ember"):
        assert first["families"][family] == second["families"][family]


def test_every_response_lies_behind_one_bin(
    recorded: dict[str, Path], document: dict[str, Any]
) -> None:
    rows = list(scorefile.good_rows(scorefile.read_scores(recorded["kl002"])))
    edges, counts = document["edges"], document["families"]["dune"][1]["counts"]
    for at, count in enumerate(counts):
        wanted = score_rows.Wanted("dune", edges[at], edges[at + 1], at == len(counts) - 1)
        found = score_rows.behind(rows, wanted, limit=5)
        assert found["total"] == count and len(found["rows"]) == min(5, count)
        assert all(row["response"] and row["kl"] is not None for row in found["rows"])


def test_the_command_says_what_is_wrong_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tails.main([str(tmp_path / "none.jsonl")]) == 3
    assert "cannot read" in capsys.readouterr().err.splitlines()[-1]
