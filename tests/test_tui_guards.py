"""Hostile cases of the panes as kinds, not examples: whatever the text, number, cut or size."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from grade_documents import grade_document, keep
from hypothesis import given
from hypothesis import strategies as st
from operating import place_of
from piloting import SIZES, app_over, jobs_shown, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console
from textual.widgets import Input
from toy_lab import ROOT, Lab

from rlhf.runlog import write_json
from sessions import queue
from sessions.grades import Watch, read_grade
from sessions.paths import Workspace
from sessions.progress import Progress
from tui.app import ConsoleApp
from tui.grade_detail import detail_lines, grading_lines
from tui.grading import items, line, state_of
from tui.histograms import EMPTY
from tui.marks import STATE_MARKS
from tui.performing import Outcome
from tui.render import ascii_only, figure, width
from tui.screens.decide import DecideScreen
from tui.widgets.histogram import Histogram

EVIL = "\x1b[2J\x1b]0;owned\x07[/b]\u202e\x9b1m"


def steers(text: str) -> bool:
    """Whether text holds anything that a terminal would obey."""
    return any(not c.isprintable() for c in text if c != "\n")


# -- text and numbers --------------------------------------------------------------------------


def glyphs() -> Iterator[str]:
    """Every character beyond ASCII in a text of the dashboard's source."""
    for path in (ROOT / "tui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from (c for c in node.value if not c.isascii() and c.isprintable())


def test_every_mark_of_the_dashboard_has_a_look_alike_in_ascii() -> None:
    drawn_in_ascii = set("□△◇⠀")  # plots choose letters instead
    assert {c for c in glyphs() if ascii_only(c) == "?"} <= drawn_in_ascii
    plain = [ascii_only(mark) for state, mark in STATE_MARKS.items()]
    assert len(set(plain)) == len(plain), f"states that look alike: {plain}"


@given(st.one_of(st.floats(), st.integers(), st.integers(10**300, 10**400).map(lambda n: -n)))
def test_any_number_fits_its_column(value: float) -> None:
    assert len(figure(value)) <= 8


# -- jobs --------------------------------------------------------------------------------------


def hostile_job(lab: Lab, key: str, **fields: Any) -> None:
    """A job that waits, whose record was written by somebody else."""
    folder = lab.workspace.jobs / key
    folder.mkdir(parents=True)
    write_json(folder / "run.json", {"kind": "grade", "name": key, "process": None, **fields})
    queue.add(lab.workspace, key, 1.0)


@pytest.mark.parametrize("field", ["kind", "name"])
async def test_escape_sequences_in_any_field_of_a_job(lab: Lab, field: str) -> None:
    queue.pause(lab.workspace, True)
    hostile_job(lab, "job", **{field: EVIL})
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("6")
        await until(pilot, lambda: bool(app.state.watch.jobs))
        for key, shown in (("X", "y does it"), ("escape", "PAUSED"), ("l", "?"), ("6", "PAUSED")):
            await pilot.press(key)
            await until(pilot, lambda seen=shown: seen in screen_text(app))
            assert not steers(screen_text(app))


@pytest.mark.parametrize("field", ["kind", "name", "reason"])
async def test_a_jobs_line_cannot_steer_the_terminal(console: Console, field: str) -> None:
    facts = {"kind": "run", "name": "a", "state": "failed", "reason": "it is so", field: EVIL}
    app = app_over(console)
    async with app.run_test(size=(120, 24)) as pilot:
        await jobs_shown(app, pilot, [Progress("a", **facts)])
        assert not steers(screen_text(app))


async def test_five_thousand_jobs_cost_what_shows_and_the_cursor_stays_in_sight(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Progress(f"j{n}", "run", f"j{n}", "queued", None, 0, 9, place=n) for n in range(5000)]
    app, drawn = app_over(console), []
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, jobs)
        real, lines = app.pane._row, lambda: screen_text(app).splitlines()  # type: ignore[attr-defined]
        monkeypatch.setattr(app.pane, "_row", lambda *a: drawn.append(a) or real(*a))
        for _ in range(60):
            await pilot.press("down")
        await until(pilot, lambda: any("▸" in line and "j60 " in line for line in lines()))
        assert len(drawn) <= 61 * 24, "rows that are not on screen were made"


# -- grade -------------------------------------------------------------------------------------

WHOLE = json.dumps(grade_document())


@pytest.mark.parametrize("text", ["", "null", "[]", "3", "{}", '{"components": null}', '"x"'])
def test_a_grade_that_holds_something_else_is_torn(tmp_path: Path, text: str) -> None:
    _is_torn(tmp_path, text)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.5, 0.9, 0.99])
def test_a_grade_cut_anywhere_is_torn(tmp_path: Path, part: float) -> None:
    _is_torn(tmp_path, WHOLE[: int(part * len(WHOLE))])


def _is_torn(workspace: Path, text: str) -> None:
    keep(workspace, "cut", text)
    found = read_grade(Workspace(workspace), "cut")
    (item,) = [one for one in items(Watch(Workspace(workspace)).look()) if one.key == "cut"]
    assert state_of(found) == "torn" and width(line(item, found, 80)) == 80
    assert "cannot be read" in "\n".join(one.plain for one in detail_lines(found, "", "", 80))


@pytest.mark.parametrize("name", ["run.json", "done.json", "output.log"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": "grade"', EVIL])
def test_a_grading_half_written_hides_no_other(tmp_path: Path, name: str, text: str) -> None:
    workspace = Workspace(tmp_path)
    for one in ("whole", "half"):
        folder = workspace.jobs / one
        folder.mkdir(parents=True)
        write_json(folder / "run.json", {"kind": "grade", "name": one, "submission": "/s"})
    (workspace.jobs / "half" / name).write_text(text)
    found = Watch(workspace).look().gradings
    assert "whole" in [one.id for one in found]
    assert not any(steers(text.plain) for one in found for text in grading_lines(one, 60))


def test_a_grading_that_goes_on_is_seen_to(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    folder = workspace.jobs / "one"
    folder.mkdir(parents=True)
    record = {"kind": "grade", "name": "one", "process": {"pid": 1}}
    write_json(folder / "run.json", record)
    write_json(folder / "done.json", {"outcome": "stopped"})
    watch = Watch(workspace)
    assert [one.state for one in watch.look().gradings] == ["stopped"]
    (folder / "done.json").unlink()
    write_json(folder / "run.json", {**record, "process": None, "attempt": 2})
    assert [one.state for one in watch.look().gradings] == ["queued"]


NAMES = ["[b]loss[/]", "[/]", "a[red]b", "[@click=app.quit]x[/]", EVIL, "漢字" * 60, "x" * 10_000]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_a_submissions_name_is_shown_as_it_is_and_asked_about(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile_job(lab, "job", name=name, submission=f"/{name}")
    queue.pause(lab.workspace, True)
    app = ConsoleApp(place_of(lab), "dark")
    monkeypatch.setattr(app, "perform", lambda words, done=None: None)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        await until(pilot, lambda: "grades (1)" in screen_text(app))
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await type_keys(app, "end", "X", "escape", "A", "escape", "g", "enter", "escape")
        await type_keys(app, "end", "X")
        if "[" in name and "\x1b" not in name:
            await until(pilot, lambda: name in screen_text(app))


# -- tails, decide -----------------------------------------------------------------------------


async def test_tails_use_the_room_that_there_is_after_every_resize(
    scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "s.jsonl"
    rows = [{"family": f"f{n % 6}", "score": n % 7} for n in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    app = app_over(scored, read_only=False)
    async with app.run_test(size=(160, 50)) as pilot:
        pane = await tails_shown(app, pilot, path)

        def drawn() -> int:
            return sum(
                plot.display and plot._picture is not EMPTY for plot in pane.query(Histogram)
            )

        for size, panels in [((160, 50), 6), ((80, 24), 1), ((160, 50), 6), ((1, 1), 1)]:
            await pilot.resize_terminal(*size)
            await until(pilot, lambda wanted=panels: drawn() == wanted)


Done = Callable[[Outcome], None]


async def test_no_key_decides_before_the_evidence_is_there_nor_without_a_reason(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[tuple[str, ...], Done]] = []
    app = app_over(console, read_only=False)
    monkeypatch.setattr(app, "perform", lambda words, done=None: asked.append((tuple(words), done)))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("d", "s", "h", "enter")
        assert isinstance(app.screen, DecideScreen)
        await until(pilot, lambda: "wait for the evidence" in screen_text(app))
        evidence = {"figures": {}, "sha256": {}, "missing": [], "digest": "0"}
        found = {"evidence": evidence, "decisions": [], "verdict_stale": None}
        asked[0][1](Outcome(asked[0][0], 0, found))
        await until(pilot, lambda: "s ship" in screen_text(app))
        await pilot.press("h", "space", "enter")
        await until(pilot, lambda: "needs a reason" in screen_text(app))
        assert len(asked) == 1, "only the evidence was asked for"
        app.screen.query_one(Input).value = "odd"
        await pilot.press("enter", "enter", "enter")
        assert [words[2:4] for words, _ in asked[1:]] == [("hold", "--reason=odd")]
