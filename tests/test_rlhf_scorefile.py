"""Every kind of score file that may be met: read, counted, or refused by what it is."""

import gzip
from pathlib import Path

import pytest
from score_files import one_file, write_rows

from rlhf.analysis import scorefile, tails
from rlhf.errors import DataError

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


def test_no_family_column_is_one_group(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "s.jsonl", [{"score": 1}, {"score": 2, "family": None}])
    assert list(one_file(path).groups) == [scorefile.ONE_GROUP]


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


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"score": 1}\n\x00\xff\xfe\n{"score": 2}\n')
    source = one_file(tmp_path / "s.jsonl")
    assert source.bad_lines == 1 and source.groups["all"].n == 2
