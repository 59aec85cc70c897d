"""Tails as an operator meets them: the command, pane 3 in a terminal, hostile score files."""

import json
import math
from pathlib import Path

import pytest
import toy_scores
from piloting import SIZES, app_over, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console, open_terminal
from terminal import Terminal
from toy_scores import gone, sampled

from rlhf.vocab import FAMILIES
from sessions.runfiles import read_object
from tui.deciding import figure_lines
from tui.histograms import GROUND, Bars, Options, arranged, as_text, draw, merged

RUN = "kl002-s1500"


# -- the command -----------------------------------------------------------------------------


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
    assert "100% > ref p99.5" in text and "Single seed" in text
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
    for n, said in ((1, "are of 1 score a family;"), (2, "are of 2 scores a family;")):
        figures = {"tails": {"families": {"dune": {"n": n}}, "shifted": []}}
        assert said in "\n".join(figure_lines(figures))


def test_a_file_that_names_no_family_is_shown_alone(scored: Console, tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("score\n1\n2\n3\n")
    found = json.loads(scored.run("tails", "--file", str(path), "--json").stdout)
    assert [source["name"] for source in found["sources"]] == ["theirs.csv"]
    assert list(found["families"]) == ["all"] and found["edges"][-1] == 3
    assert found["alone"] == "the file names no family: shown alone"
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


async def test_the_pane_shows_a_file_that_names_no_family_alone(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored.run("tails", "reference")  # so that it has scores
    monkeypatch.setenv("XDG_CACHE_HOME", scored.environment["XDG_CACHE_HOME"])
    monkeypatch.setenv("PYTHONPATH", str(toy_scores.ROOT))
    path = tmp_path / "s.csv"
    path.write_text("score\n1\n2\n3\n")
    app = app_over(scored, read_only=False)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await tails_shown(app, pilot, path)
        await until(pilot, lambda: "shown alone" in screen_text(app))
        assert pane.tails is not None and pane.tails.names == ["s.csv"]
        assert pane.tails.families == ["all"]
        await type_keys(app, "enter")
        await until(pilot, lambda: "1 response" in screen_text(app))
        assert "reference:" not in screen_text(app)


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


# -- the pane --------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (160, 50)], ids=["80x24", "160x50"])
def test_an_operator_sees_dune_and_ember_collapse(
    scored: Console, columns: int, lines: int, tmp_path: Path
) -> None:
    with open_terminal(scored, columns, lines) as terminal:
        terminal.sees("reference", RUN)
        terminal.press("/", RUN, "enter", "home", "enter")
        terminal.sees("proxy")
        terminal.press("3")
        terminal.sees("No scores yet", "Press e")
        terminal.press("e")
        terminal.sees("█ reference", f"● {RUN}", "p99.5", "anvil")
        for family in ("dune", "ember"):
            _turn_to(terminal, family)
            terminal.sees(f"{family}  100% > ref p99.5", f"{RUN} 2000 4.0")
        terminal.press("L")
        terminal.sees("counts log", "100┤")
        terminal.press("enter")
        terminal.sees("responses", "pa pa pa pa pa pa pa he", "ember v0 v1 v2 v3", "30.5")
        terminal.press("esc")
        _writes(terminal, tmp_path / "tails.json")
        terminal.press("q")
        assert terminal.wait(30) == 0


def _turn_to(terminal: Terminal, family: str) -> None:
    terminal.until(lambda: _turned_to(terminal))
    for _ in FAMILIES:
        before = _turned_to(terminal)
        if before == family:
            return
        terminal.press("v")
        terminal.until(lambda old=before: _turned_to(terminal) not in ("", old))
    raise AssertionError(f"{family} is not there")


def _turned_to(terminal: Terminal) -> str:
    """The family that the last line names, once it is drawn to its end."""
    last = terminal.screen.display[-1]
    return next((f for n, f in enumerate(FAMILIES, 1) if f" {f} {n}/6 " in last), "")


def _writes(terminal: Terminal, path: Path) -> None:
    terminal.sees("counts log")
    terminal.press("w")
    terminal.sees("write the tails to")
    terminal.press(*["\x7f"] * len("tails.csv"), str(path), "enter")
    terminal.until(lambda: (read_object(path, []) or {}).get("format") == 1)


@pytest.mark.parametrize("how", ["esc", "q"])
def test_leaving_while_it_scores_leaves_no_child(scored: Console, how: str) -> None:
    with open_terminal(scored, 80, 24, SCORES_MODE="hang") as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "enter")
        terminal.sees("proxy")
        terminal.press("3")
        terminal.sees("Press e")
        terminal.press("e")
        terminal.sees("scoring reference (1/2)", "esc cancels")
        terminal.until(lambda: bool(sampled(scored)))
        terminal.press(how)
        if how == "esc":
            terminal.sees("cancelled: nothing was kept")
        else:
            assert terminal.wait(30) == 0
        terminal.until(lambda: gone(sampled(scored)[0]))
    assert not list((scored.place / "cache").rglob("*.jsonl"))


HOSTILE = {
    "ties": [{"score": i % 2} for i in range(2000)],
    "one distinct score": [{"score": 2.5}] * 2000,
    "all-NaN": [{"score": math.nan}] * 5,
    "inf": [{"score": math.inf}, {"score": -math.inf}, {"score": 1}],
    "1e308": [{"score": 1e308}, {"score": -1e308}, {"score": 0.5}],
    "a family without samples": [{"family": "dune", "score": None}, {"family": "x", "score": 1}],
    "control sequences": [
        {"family": "\x1b[2J\x1b]0;x\x07", "score": 1, "response": "\x1b[31mred\u202e", "id": "\x07"}
    ],
    "families": [{"family": f"f{i} \u4e2d", "score": i} for i in range(100)],
    "markup": [{"family": "[/bold]", "score": 1, "prompt": "[red]", "response": ["[", 1]}],
    "one score": [{"score": 0}],
}


@pytest.mark.parametrize("words", HOSTILE)
async def test_the_pane_withstands(
    scored: Console, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(toy_scores.ROOT))
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in HOSTILE[words]))
    app = app_over(scored, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await tails_shown(app, pilot, path)
        assert pane.tails is not None, pane.desk.found
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await type_keys(app, "v", "V", "L", "right", "left", "home", "end", "z", "L", "z", "y")
            await type_keys(app, "i", "down", "escape", "w", "escape", "o", "escape")
        await pilot.resize_terminal(80, 24)
        await type_keys(app, "enter")
        for _ in range(60):
            await pilot.pause(0.01)
        assert not any(ord(c) < 32 and c != "\n" for c in screen_text(app))


async def test_a_failed_look_up_is_told_in_the_pane(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    app = app_over(scored, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await tails_shown(app, pilot, tmp_path / "none.csv")
        await pilot.pause()
        assert "cannot read" in screen_text(app)
        await type_keys(app, "F")
        await pilot.pause()
        assert "cannot read" not in screen_text(app)


async def test_read_only_refuses_to_score(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.state.open(RUN)
        await tails_shown(app, pilot)
        await type_keys(app, "e")
        assert "--read-only: nothing is measured" in screen_text(app)
        assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.jsonl"))


# -- drawing ---------------------------------------------------------------------------------


def test_every_bin_that_is_not_empty_shows() -> None:
    counts = [2000, 0, 1, 0, 0, 1]
    for log in (False, True):
        for slot in (GROUND, 0):
            grid = draw([Bars(slot, counts)], range(7), Options(29, 10, log)).grid
            lowest = "".join(cell for cell, _ in grid[-3][5:])
            cells = [lowest[at * 4 : at * 4 + 4].strip() for at in range(6)]
            assert [bool(cell) for cell in cells] == [bool(count) for count in counts]


def test_a_log_axis_has_true_counts() -> None:
    lines = as_text(draw([Bars(0, [1, 10, 100, 1000])], [0, 1, 2, 3, 4], Options(30, 14, True)))
    labels = [line.split("┤")[0].strip() for line in lines if "┤" in line]
    assert labels == ["1000", "100", "10", "1"]


def test_a_linear_axis_ends_at_the_highest_count() -> None:
    lines = as_text(draw([Bars(0, [3, 857])], [0, 1, 2], Options(30, 14)))
    assert lines[0].startswith("857┤")


@pytest.mark.parametrize("room", [1, 7, 36, 45, 72, 155])
def test_columns_hold_every_bin_once(room: int) -> None:
    counts = list(range(72))
    layout = arranged(len(counts), room)
    assert sum(merged(counts, layout.bins)) == sum(counts)
    columns = math.ceil(72 / layout.bins)
    assert columns * layout.cells <= room or room < 2
    spans = {layout.span(at, 72) for at in range(72)}
    assert sorted(at for span in spans for at in span) == list(range(72))


def test_a_run_is_told_from_the_reference_without_colour() -> None:
    bars = [Bars(GROUND, [5, 0]), Bars(0, [0, 5]), Bars(1, [0, 3])]
    for ascii, marks in ((False, "█●▲"), (True, "%*o")):
        text = "".join(as_text(draw(bars, [0, 1, 2], Options(20, 12, ascii=ascii))))
        assert all(mark in text for mark in marks)
