"""What the lines around the panes say: counts, units, keys, and what each figure is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TASK
from operating import WRAPPER
from piloting import app_over, curves_of, ready, screen_text, type_keys, until
from synthetic import Console
from textual.pilot import Pilot

from sessions.task import REFERENCE
from tui.app import ConsoleApp
from tui.bars import key_hints
from tui.curves import OVERALL
from tui.disk_table import size
from tui.legend import facts_line
from tui.looks import LOOKS
from tui.palette import commands
from tui.panes import PANES
from tui.render import figure, number_of
from tui.screens.grade import GradePane
from tui.screens.probe import HINT
from tui.screens.samples import SamplesScreen

RUN = "kl002-s1500"
ARROWS = ("up", "down", "left", "right", "home", "end", "pgup", "pgdn")
KEYS = ("esc back", "tab view", "v family")


def test_one_grade_is_one_and_a_small_log_has_a_size() -> None:
    assert [number_of(n, "grade") for n in (0, 1, 2)] == ["0 grades", "1 grade", "2 grades"]
    assert [size(n) for n in (0, 812, 41_300, 2.5e9)] == ["0 B", "812 B", "41.3 kB", "2.5 GB"]


@pytest.mark.parametrize(
    ("room", "said"),
    [(80, " esc back  tab view  v family  ? help"), (30, " esc back  tab view  ? help"),
     (12, " ? help")],
    ids=["wide", "narrow", "nothing but help"],
)  # fmt: skip
def test_keys_give_way_from_the_least_important_and_help_never(room: int, said: str) -> None:
    assert key_hints(KEYS, room) == said


async def opened(app: ConsoleApp, pilot: Pilot) -> None:
    """Pane 2 with a run's curves."""
    await ready(app, pilot)
    await app.open_run(RUN, "run")
    await curves_of(app, pilot, RUN)


async def test_pane_2_says_which_proxy_is_evaluated_and_which_is_of_training(
    console: Console,
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: "evaluated proxy" in screen_text(app))
        await until(pilot, lambda: "training at step 1500" in screen_text(app))
        for room in (10, 60, 80, 200):
            line = facts_line(app.state, RUN, room).plain
            assert line.startswith(RUN) and ("wrapper" in line) == (room == 200)


async def test_pane_2_reads_the_open_run_where_it_ends_though_others_go_on(
    console: Console,
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        app.state.toggle_marks([RUN])
        await app.open_run("default-s800", "run")
        await curves_of(app, pilot, "default-s800")
        await until(pilot, lambda: "training at step 800 " in screen_text(app))
        await type_keys(app, "right")
        await until(pilot, lambda: "training at step 825 " in screen_text(app))
        await type_keys(app, "f")
        await until(pilot, lambda: "training at step 800 " in screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_pane_2_reads_out_in_brief_and_copies_in_full(
    console: Console, size: tuple[int, int]
) -> None:
    app = app_over(console)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        await type_keys(app, "left", "y")
        await until(pilot, lambda: "copied the read-out" in screen_text(app))
        values = app.state.curves[RUN].series("proxy", OVERALL)
        value = values[-2] or 0
        shown = screen_text(app).partition("training at step")[2].splitlines()[1]
        assert f" {figure(value)} " in shown and f"{value:.6g}" not in shown
        assert f" {value:.6g} " in app.clipboard


async def test_pane_2_says_why_the_reference_has_no_curves(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.open_run(REFERENCE, "run")
        await until(pilot, lambda: "(down: next run)" in screen_text(app))
        await type_keys(app, "down")
        await until(pilot, lambda: "training at step" in screen_text(app))


async def test_the_samples_keys_fit_and_help_lists_them(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(SamplesScreen(app.pane.shell, app.state, RUN, app.state.folders[RUN]))
        await until(pilot, lambda: "w write  y copy  ? help" in screen_text(app))
        await type_keys(app, "question_mark")
        await until(pilot, lambda: "What each of its tokens adds" in screen_text(app))
        await type_keys(app, "escape")
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: all(x in screen_text(app) for x in ("esc back", "? help")))


async def test_the_grade_pane_counts_in_words(console: Console) -> None:
    (console.workspace / "submissions" / "sub").mkdir(parents=True)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.action_pane("grade")
        pane = app.pane
        assert isinstance(pane, GradePane)
        await until(pilot, lambda: "1 submission  0 grades" in pane.status())


def test_the_probe_box_tells_its_keys_at_80_columns() -> None:
    assert len(HINT) <= 68 and HINT.endswith("esc closes")


@pytest.mark.parametrize("pane", [pane.key for pane in PANES])
async def test_the_palette_begins_with_panes_and_ends_with_moves_of_the_cursor(
    console: Console, pane: str
) -> None:
    app = app_over(console, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, pane)
        found = [command.choice for command in commands(app.screen, app, LOOKS).values()]
    count = len(PANES)
    assert [choice.label for choice in found[:count]] == [pane.title for pane in PANES]
    keys = [choice.note.split()[0] for choice in found[count:] if choice.note]
    moves = [key.removeprefix("shift+") in ARROWS for key in keys]
    assert moves == sorted(moves) and moves[-1]


SLOW = {
    "probe": (("probe", "dune v0 v1 v2 v3", "pa " * 8), "loading the task's reward model"),
    "wrapper": (
        ("wrapper", "check", "fix.py", "--n", "2"),
        "sampling the reference 2 times a family, and running fix.py on that",
    ),
}


@pytest.mark.parametrize("case", SLOW)
def test_what_takes_seconds_is_said_before_it_is_done(case: str, tmp_path: Path) -> None:
    words, said = SLOW[case]
    (tmp_path / "fix.py").write_text(WRAPPER)
    command = [sys.executable, "-c", "from tui.cli import main; main()", "--task", str(TASK)]
    for form in ((), ("--json",)):
        done = subprocess.run(
            [*command, *words, *form],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr.splitlines()) == (0, [said])
        assert not form or done.stdout.count("\n") == 1
