"""Tails as text: `tails` of runs and of files from elsewhere, and in a decision's evidence."""

import json
from pathlib import Path

import pytest
from synthetic import Console
from toy_scores import sampled

from rlhf.vocab import FAMILIES
from tui.deciding import figure_lines

RUN = "kl002-s1500"


def test_intervals_wider_than_a_float_are_written_out(console: Console) -> None:
    file = console.place / "huge.csv"
    file.write_text("score\n" + "1.7e308\n" * 1000 + "-1.7e308\n" * 1001)
    done = console.run("tails", "--alone", "--file", str(file))
    assert done.returncode == 0, done.stderr
    assert "-2e+308 [-2e+308, 2e+308]" in done.stdout and "inf" not in done.stdout


def test_tails_of_a_run_beside_the_reference(scored: Console) -> None:
    done = scored.run("tails", RUN, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["format"] == 1 and list(found["families"]) == FAMILIES
    assert [source["name"] for source in found["sources"]] == ["reference", RUN]
    assert "measuring reference (1/2)" in done.stderr
    assert all(sum(one["counts"]) == 2000 for pair in found["families"].values() for one in pair)


def test_a_second_call_samples_nothing(scored: Console) -> None:
    first = scored.run("tails", RUN, "--json")
    again = scored.run("tails", RUN, "--json")
    assert again.stdout == first.stdout and len(sampled(scored)) == 2


def test_text_shows_every_family_and_what_is_heavy(scored: Console) -> None:
    text = scored.run("tails", RUN, "kl05-s800").stdout
    for family in FAMILIES:
        assert f"\n{family}\n" in f"\n{text}"
    assert "100%±.76 >ref, +" in text and "Single seed" in text
    assert max(map(len, text.splitlines())) <= 100
    assert " 100┤" in scored.run("tails", RUN, "--log").stdout


def test_text_is_plain_where_nothing_else_can_be_printed(scored: Console) -> None:
    done = scored.run("tails", RUN, "kl05-s800", PYTHONIOENCODING="ascii", COLUMNS="70")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and "% reference" in done.stdout and "* " + RUN in done.stdout


def test_a_run_that_is_the_reference_is_there_once(scored: Console) -> None:
    found = json.loads(scored.run("tails", "reference", "--json").stdout)
    assert [source["name"] for source in found["sources"]] == ["reference"]


def test_a_score_file_from_elsewhere(scored: Console, tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("score\n" + "".join(f"{i}\n" for i in range(2001)) + "high\n")
    found = json.loads(scored.run("tails", "--file", str(path), "--alone", "--json").stdout)
    assert found["families"]["all"][0]["quantiles"]["p99"]["value"] == 1980
    text = scored.run("tails", "--file", str(path), "--alone").stdout
    assert "not read: theirs.csv, line 2003: score is 'high', not a number" in text


@pytest.mark.parametrize("names", [("",), ("", "dune")], ids=["one", "beside another"])
def test_a_familys_long_name_does_not_fill_the_page(
    scored: Console, tmp_path: Path, names: tuple[str, ...]
) -> None:
    path = tmp_path / "s.csv"
    long = "x" * 5000
    path.write_text("score,family\n" + "".join(f"1,{name or long}\n" for name in names))
    text = scored.run("tails", "--file", str(path), "--alone").stdout
    assert "x" * 30 in text and text.count("x") < 200
    assert max(len(line) for line in text.splitlines() if "xxx" in line) <= 80


def test_evidence_of_one_score_is_not_of_scores() -> None:
    for n, said in ((1, " 1 score each"), (2, " 2 scores each")):
        figures = {"tails": {"families": {"dune": {"n": n}}, "shifted": []}}
        assert said in "\n".join(figure_lines(figures))


def test_evidence_of_tails_has_its_intervals_as_the_pane_has() -> None:
    beyond = {"value": 0.5, "low": 0.4, "high": 0.55}
    moved = {"value": 2.0, "low": None, "high": None}
    one = {"n": 2000, "above_p99_5": beyond, "median_shift": moved}
    lines = list(figure_lines({"tails": {"families": {"dune": one}, "shifted": ["dune"]}}))
    assert [line.split()[-2:] for line in lines if "dune" in line][0] == ["50%±10.0", "+2.00"]
    assert max(map(len, lines)) <= 67 and any("±: standard error" in line for line in lines)


def test_a_file_that_names_no_family_is_shown_alone(scored: Console, tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("score\n1\n2\n3\n")
    found = json.loads(scored.run("tails", "--file", str(path), "--json").stdout)
    assert [source["name"] for source in found["sources"]] == ["theirs.csv"]
    assert list(found["families"]) == ["all"] and found["edges"][-1] == 3
    assert found["alone"] == "the file names no family: shown alone"
    assert not sampled(scored)
    text = scored.run("tails", "--file", str(path)).stdout
    assert text.count(found["alone"]) == 1
    assert "reference  " not in text and "dune" not in text


def test_a_file_that_names_a_family_is_beside_the_reference(
    scored: Console, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("score,family\n1,dune\n2,\n")
    found = json.loads(scored.run("tails", "--file", str(path), "--json").stdout)
    assert [source["name"] for source in found["sources"]] == ["reference", "theirs.csv"]
    assert found["alone"] is None and list(found["families"]) == [*FAMILIES, "all"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "name a run"),
        (("nothing",), 2, "nothing"),
        (("--file", "/nowhere.csv", "--alone"), 3, "cannot read /nowhere.csv"),
        (("kl",), 2, "kl"),
    ],
    ids=["nothing named", "no such run", "no such file", "ambiguous"],
)
def test_what_cannot_be_done_is_one_line_or_document(
    scored: Console, words: tuple[str, ...], code: int, said: str
) -> None:
    done = scored.run("tails", *words)
    assert done.returncode == code and said in done.stderr and done.stdout == ""
    error = json.loads(scored.run("tails", *words, "--json").stdout)["error"]
    assert said in error["message"]


def test_one_family_alone_keeps_the_axis_of_all(scored: Console) -> None:
    whole = json.loads(scored.run("tails", RUN, "--json").stdout)
    found = json.loads(scored.run("tails", RUN, "--family", "anvil", "--json").stdout)
    assert found["families"] == {"anvil": whole["families"]["anvil"]}
    assert found["edges"] == whole["edges"] and found["edges"][-1] > 4  # where dune lies
    text = scored.run("tails", RUN, "--family", "anvil").stdout
    assert "anvil" in text and "dune" not in text
    unknown = scored.run("tails", RUN, "--family", "sand")
    assert unknown.returncode == 2 and "there are anvil, birch" in unknown.stderr


def test_a_failing_sampler_is_told(scored: Console) -> None:
    done = scored.run("tails", RUN, SCORES_MODE="fail")
    assert done.returncode == 4 and "expected 64, found 32" in done.stderr
    assert "error:" not in done.stderr


def test_read_only_measures_nothing_but_shows_what_is_there(scored: Console) -> None:
    done = scored.run("--read-only", "tails", RUN)
    assert done.returncode == 2 and "measures nothing" in done.stderr and not sampled(scored)
    scored.run("tails", RUN)
    assert scored.run("--read-only", "tails", RUN).returncode == 0
