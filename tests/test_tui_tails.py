"""The Tails pane as an operator meets it: in a terminal, over hostile score files."""

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
from tui.messages import RowsRead, TailsFound
from tui.tails_work import Rows

RUN = "kl002-s1500"


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
        n = "" if columns < 100 else "2000 "  # else in the heading
        for family in ("dune", "ember"):
            _turn_to(terminal, family)
            terminal.sees(f"{family}  100%±.76 >ref", f"{RUN} {n}4.0")
        terminal.press("L")
        terminal.sees("counts log", "100┤", "ember in [")
        terminal.press("enter")
        terminal.sees("KL, nats")
        terminal.sees("responses", "pa pa pa pa pa pa pa he", "ember v0 v1 v2 v3", "30.5")
        terminal.press("esc")
        _writes(terminal, tmp_path / "tails.json")
        terminal.press("q")
        assert terminal.wait() == 0


def test_names_and_figures_of_two_runs_are_whole_in_80_columns(scored: Console) -> None:
    names = ("reference", "default-s800", "pilotmix-s800")
    scored.run("tails", *names)
    with open_terminal(scored, 80, 24) as terminal:
        terminal.sees(RUN)
        terminal.press("/", "default-s800 or pilotmix-s800", "enter")
        terminal.until(lambda: RUN not in terminal.text)
        terminal.press("home", "space", "space")
        terminal.sees("2 marked")
        terminal.press("home", "enter")
        terminal.sees("evaluated proxy")
        terminal.press("3")
        terminal.sees("RUN, n 2000", "▲ pilotmix-s800  raw, by the task's reward model ")
        terminal.sees(*(f"\n {name:13} " for name in names), "single seed): all ")
        terminal.until(lambda: all(f" {name} " in terminal.line("anvil in [") for name in names))
        assert "…" not in terminal.line("anvil in [")


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
    return next((f for n, f in enumerate(FAMILIES, 1) if f" {f}, family {n} of 6 " in last), "")


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
            assert terminal.wait() == 0
        terminal.until(lambda: gone(sampled(scored)[0]))
    assert not list((scored.place / "cache").rglob("*.jsonl"))


@pytest.mark.parametrize("has_scores", [True, False])
async def test_the_pane_shows_a_file_that_names_no_family_alone(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_scores: bool
) -> None:
    if has_scores:
        scored.run("tails", "reference")
    monkeypatch.setenv("XDG_CACHE_HOME", scored.environment["XDG_CACHE_HOME"])
    monkeypatch.setenv("PYTHONPATH", str(toy_scores.ROOT))
    path = tmp_path / "s.csv"
    path.write_text("score\n1\n2\n3\n")
    app = app_over(scored, read_only=False)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await tails_shown(app, pilot, path)
        await until(pilot, lambda: "shown alone" in screen_text(app))
        assert pane.tails is not None and pane.tails.names == ["s.csv"]
        assert not pane.desk.lacking
        assert pane.tails.families == ["all"]
        await type_keys(app, "enter")
        await until(pilot, lambda: "1 response" in screen_text(app))
        assert "reference:" not in screen_text(app)


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
        await until(pilot, lambda: "cannot read" in screen_text(app))
        await type_keys(app, "F")
        await until(pilot, lambda: "cannot read" not in screen_text(app))


async def test_what_was_said_elsewhere_stays_when_tails_come_late(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await tails_shown(app, pilot, tmp_path / "none.csv")
        await type_keys(app, "1")
        app.say("said")
        assert pane.desk.found is not None
        pane.on_tails_found(TailsFound(pane.desk.found))
        pane.on_rows_read(RowsRead(Rows("late")))
        assert "said" in app._notice and len(app.screen_stack) == 1


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
        await until(pilot, lambda: "--read-only: nothing is measured" in screen_text(app))
        assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.jsonl"))
