"""What a pane says of a widget's size is said of the size that the widget has."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from grade_documents import grade_document, keep
from piloting import app_over, ready, screen_text, tails_shown, type_keys, until
from rich.text import Text
from synthetic import Console
from textual.pilot import Pilot

from tui.app import ConsoleApp
from tui.screens.grade import GradePane
from tui.screens.tails import TailsPane
from tui.tails_text import bin_words
from tui.widgets.histogram import Histogram
from tui.widgets.lines import Lines

FAMILIES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six families of 400 scores each, as many bins as there can be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "s.jsonl"
    rows = [{"family": name, "score": n**1.1} for name in FAMILIES for n in range(400)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def under_the_cursor(pane: TailsPane) -> str:
    """The range of the bins in the column where the caret is drawn."""
    tails, plots = pane.tails, [plot for plot in pane.query(Histogram) if plot.display]
    assert tails is not None
    here = plots[pane.choice.panels(tails, pane._room).index(pane.choice.family(tails))]
    drawn = here.drawing.layout
    return bin_words(tails, drawn.span(pane.choice.cursor(tails), len(tails.edges) - 1))


async def test_the_bin_that_is_read_out_is_that_of_the_column_under_the_cursor(
    console: Console, scores: Path
) -> None:
    app = app_over(console, read_only=False)
    async with app.run_test(size=(160, 50)) as pilot:
        pane = await tails_shown(app, pilot, scores)
        await _reads_what_is_drawn(pane, pilot)
        for key in ("z", "L", "z", "left", "z", "v"):
            await type_keys(app, key)
            await _reads_what_is_drawn(pane, pilot)
        for size in ((80, 24), (60, 24), (160, 50), (120, 40)):
            await pilot.resize_terminal(*size)
            await _reads_what_is_drawn(pane, pilot)


async def _reads_what_is_drawn(pane: TailsPane, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: f" in {under_the_cursor(pane)}: s.jsonl " in screen_text(pilot.app))


async def test_no_bin_is_read_out_before_there_is_a_column(
    console: Console, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    show = Lines.show

    def seen(self: Lines, lines: Sequence[Text]) -> None:
        if self.id == "readout":
            said.extend(line.plain for line in lines if " in [" in line.plain)
        show(self, lines)

    monkeypatch.setattr(Lines, "show", seen)
    app = app_over(console, read_only=False)
    app.state.family = "d"  # its histogram is hidden until there are six
    async with app.run_test(size=(160, 50)) as pilot:
        pane = await tails_shown(app, pilot, scores)
        await _reads_what_is_drawn(pane, pilot)
        assert {line.partition(" in ")[2] for line in said} == {
            f"{under_the_cursor(pane)}: s.jsonl {said[-1].split()[-1]}"
        }


async def test_the_bars_fit_a_window_resized_behind_a_dialog(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "2", "question_mark")
        for size in ((80, 24), (120, 40), (160, 50)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: "read-only  task " in screen_text(app).split("\n")[0])
            await until(pilot, lambda: screen_text(app).split("\n")[-1].endswith("q quit "))


async def test_a_grade_is_told_in_the_width_that_its_part_has(console: Console) -> None:
    keep(console.workspace, "sub-1", grade_document())
    old = console.workspace / "grades" / "sub-1" / "grade.json"
    os.utime(old, (0, 0))  # its age is the same for as long as this takes
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        await until(pilot, lambda: "where points were lost" in screen_text(app))
        for size in ((160, 50), (80, 24), (149, 40), (150, 40), (200, 60)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: _fits(app))


async def test_how_much_of_a_grade_is_below_is_said_as_it_scrolls(console: Console) -> None:
    keep(console.workspace, "sub-1", grade_document())
    app = app_over(console)
    async with app.run_test(size=(80, 18)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        await until(pilot, lambda: "where points were lost" in screen_text(app))
        await type_keys(app, "enter")
        await until(pilot, lambda: _below(app) > 2)
        whole = _below(app)
        for key, left in (("down", whole - 1), ("home", whole), ("end", 0)):
            await type_keys(app, key)
            await until(pilot, lambda wanted=left: _below(app) == wanted)


def _below(app: ConsoleApp) -> int:
    """How many lines the status line says are below."""
    said = re.search(r"(\d+) more lines? below", screen_text(app).splitlines()[-1])
    return int(said[1]) if said else 0


def _fits(app: ConsoleApp) -> bool:
    pane = app.pane
    assert isinstance(pane, GradePane)
    lines = pane._lines(pane.table.current, pane.detail.size.width)
    return pane.detail.size.width > 20 and pane.detail.plain == [line.plain for line in lines]
