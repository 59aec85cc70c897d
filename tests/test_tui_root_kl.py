"""Reward against root KL: what has no root is left out and counted; hostile figures and names."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from synthetic import Console
from test_tui_hostile import SIZES, app_over, curves_of, ready, screen_text, type_keys

from tui.curves import OVERALL, Follower
from tui.messages import FrontierFound
from tui.root_kl import Found, Point, csv_text, points_of, series_of, table_lines, trajectory
from tui.screens.run import RunPane

EVIL = "\x1b]0;owned\x07\x1b[2J[/bold]\u202e" + "w" * 300
RUN = "kl002-s1500"
HOSTILE = [1.0, -0.5, None, math.nan, 1e308, -1e308, 0.0]


def curve_of(tmp_path: Path, kls: Sequence[float | None]) -> Any:
    """The curve of a log with these KL values, its proxy the row's number."""
    rows = [{"step": n, "kl": kl, "proxy_reward": float(n)} for n, kl in enumerate(kls)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return Follower(tmp_path / "log.jsonl").look()


def point(kl: float, mean: Any = 1.0, label: str = "step 1") -> Point:
    return Point(label, kl, {"mean": mean, "se": 0.1, "n": 8})


def test_rows_without_a_root_are_left_out_and_counted(tmp_path: Path) -> None:
    xs, ys, left_out = trajectory(curve_of(tmp_path, HOSTILE), OVERALL)
    assert (xs, ys) == ([1.0, 1e154, 0.0], [0.0, 4.0, 6.0])  # in the order of the log
    assert left_out == 4  # two below zero, the null and the NaN
    assert trajectory(curve_of(tmp_path, [2.25]), OVERALL) == ([1.5], [0.0], 0)
    assert trajectory(curve_of(tmp_path, []), OVERALL) == ([], [], 0)
    assert trajectory(curve_of(tmp_path, [1.0]), "dune") == ([], [], 0)


@pytest.mark.parametrize(
    ("kl", "mean"),
    [(-1, 1), (math.nan, 1), (math.inf, 1), (1, math.nan), (1, math.inf), (1, None), (1, "x")],
    ids=str,
)
def test_a_point_that_cannot_be_drawn_is_not_and_its_line_still_is(kl: float, mean: Any) -> None:
    series = series_of([point(kl, mean), point(4.0, 2.0)], 0, line=True)
    assert (series.xs, series.ys) == ([2.0], [2.0])
    found = Found({OVERALL: {RUN: [point(kl, mean)]}})
    assert len(table_lines(found, OVERALL, {RUN: RUN}, 0, 80)) == 2
    assert RUN in csv_text(found, {RUN: RUN})


def test_points_come_in_order_of_their_root_and_what_is_no_number_is_none() -> None:
    good = {"kl": {"mean": 4}, "proxy": {"mean": 1}}
    evaluated = [
        (100, {"balanced": good, "families": {"dune": {"kl": {"mean": None}, "proxy": {}}}}),
        (None, {"balanced": {"kl": {"mean": 1}, "proxy": {"mean": 2}}, "families": {}}),
    ]
    points = points_of(evaluated, OVERALL)
    assert [one.label for one in points] == ["step 100", "final"]
    assert series_of(points, 0, line=False).xs == [1.0, 2.0]
    assert points_of(evaluated, "dune") == points_of(evaluated, "ember") == []


def test_the_table_says_what_is_missing() -> None:
    lacking = [("a step-1", Path("a"))] * 3
    lines = table_lines(Found({OVERALL: {RUN: []}}, {}, lacking), OVERALL, {}, 7, 100)
    assert "3 checkpoints are not evaluated (e)" in lines[0]
    assert "7 log rows left out: KL negative or not finite" in lines[0]
    assert table_lines(Found(failure="no torch"), OVERALL, {}, 0, 80) == ["not evaluated: no torch"]


FOUND = {
    "nothing at all": Found(),
    "a failure": Found(failure=EVIL.replace("\x1b", "")),
    "empty scopes": Found({OVERALL: {}, "dune": {}}, {OVERALL: []}),
    "one point": Found({OVERALL: {RUN: [point(4)]}}, {OVERALL: [point(0, label="best of 1")]}),
    "figures without end": Found({OVERALL: {RUN: [point(k) for k in (1e308, math.inf, -1)]}}),
    "nothing but NaN": Found({OVERALL: {RUN: [point(math.nan, math.nan)]}}),
    "ten thousand points": Found({OVERALL: {RUN: [point(k / 100) for k in range(10_000)]}}),
}


@pytest.mark.parametrize("words", FOUND)
async def test_the_view_withstands(console: Console, words: str) -> None:
    log = console.task / "runs" / RUN / "log.jsonl"
    rows = [{"step": n, "kl": kl, "proxy_reward": kl} for n, kl in enumerate(HOSTILE, start=1)]
    log.write_text("".join(json.dumps(one) + "\n" for one in rows))
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.open_run(RUN, "run")
        await curves_of(app, pilot, RUN)
        pane = app.pane
        assert isinstance(pane, RunPane)
        app.state.runs[RUN] = {**app.state.runs[RUN], "name": EVIL}
        await type_keys(app, "K")
        pane.on_frontier_found(FrontierFound((RUN,), FOUND[words]))
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await type_keys(app, "L", "v", "V", "i", "escape", "y", "e", "w", "escape")
        await pilot.resize_terminal(160, 50)
        await type_keys(app, "v", "V")
        assert "root KL" in screen_text(app)


async def test_read_only_evaluates_nothing(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.open_run(RUN, "run")
        await type_keys(app, "K", "e")
        assert "--read-only: nothing is evaluated" in screen_text(app)
    assert console.evaluated() == 0
