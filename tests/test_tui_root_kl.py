"""Reward against root KL: what has no root is left out and counted; hostile figures and names."""

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import toy_scores
from piloting import SIZES, app_over, curves_of, ready, screen_text, type_keys, until
from synthetic import Console, write_run

from rlhf.vocab import FAMILIES
from tui import root_kl_desk
from tui.background import Background
from tui.curves import OVERALL, Follower
from tui.messages import FrontierFound, Notice
from tui.place import Place
from tui.root_kl import Found, Point, csv_text, points_of, series_of, table_lines, trajectory
from tui.screens.run import RunPane
from tui.state import State

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
    assert "3 checkpoints not evaluated (e)" in lines[0]
    assert "7 log rows left out: KL negative or not finite" in lines[0]
    assert table_lines(Found(failure="no torch"), OVERALL, {}, 0, 80) == ["not evaluated: no torch"]


# -- the command -----------------------------------------------------------------------------

BEST_OF_N = """
import json, os, sys
with open(os.environ["BEST_CALLS"], "a") as calls:
    print(os.getpid(), file=calls)
row = {"n": 2, "kl": 0.25, "proxy": {"mean": 0.6, "se": 0.1, "n": 64}}
json.dump({"families": {"dune": [row]}, "overall": [row]}, open(sys.argv[2], "w"))
"""


@pytest.fixture(name="checkpoints")
def _checkpoints(console: Console) -> Console:
    """A run with one checkpoint beside its final weights, and a made-up best-of-n."""
    toy_scores.install(console.place / "fake")
    (console.place / "fake" / "rlhf" / "analysis" / "frontier.py").write_text(BEST_OF_N)
    console.environment["BEST_CALLS"] = str(console.place / "best-calls")
    folder = console.task / "runs" / RUN / "checkpoints" / "step-000100"
    folder.mkdir(parents=True)
    (folder / "policy.safetensors").write_bytes(b"early")
    (folder / "config.json").write_text("{}")
    return console


def frontier(console: Console, *words: str, **environment: str) -> dict[str, Any]:
    done = console.run("frontier", RUN, "--json", *words, **environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_command_gives_every_point_and_keeps_what_it_measured(checkpoints: Console) -> None:
    found = frontier(checkpoints)
    assert list(found["families"]) == [OVERALL, *FAMILIES] and found["not_evaluated"] == []
    dune = found["families"]["dune"]
    assert [one["step"] for one in dune["checkpoints"]] == [100, None]
    for one in dune["checkpoints"]:
        assert one["root_kl"] == math.sqrt(one["kl"]) and {"mean", "se", "n"} <= set(one["proxy"])
    assert dune["best_of_n"][0]["n"] == 2 and dune["best_of_n"][0]["root_kl"] == 0.5
    assert frontier(checkpoints) == found
    assert checkpoints.evaluated() == 2
    assert len((checkpoints.place / "best-calls").read_text().splitlines()) == 1


def test_one_family_without_best_of_n_and_as_text_and_csv(checkpoints: Console) -> None:
    found = frontier(checkpoints, "--family", "ember", "--no-bon")
    assert list(found["families"]) == ["ember"] and found["families"]["ember"]["best_of_n"] == []
    assert not (checkpoints.place / "best-calls").exists()
    text = checkpoints.run("frontier", RUN, "--family", "dune").stdout
    assert "step 100" in text and "final" in text and "best of 2" in text
    rows = checkpoints.run("frontier", RUN, "--family", "dune", "--csv").stdout.splitlines()
    assert len(rows) == 4 and rows[0].startswith("scope,run,checkpoint,kl")


def test_what_is_not_evaluated_is_named(checkpoints: Console) -> None:
    done = checkpoints.run("--read-only", "frontier", RUN, "--json")
    found = json.loads(done.stdout)
    assert len(found["not_evaluated"]) == 2 and checkpoints.evaluated() == 0
    assert "2 checkpoints not evaluated" in done.stderr
    assert not (checkpoints.place / "cache").exists()
    failed = checkpoints.run("frontier", RUN, "--evaluate", "1", EVALUATE_MODE="fail")
    assert failed.returncode == 0 and "weights of another shape" in failed.stderr


def test_a_run_without_any_checkpoint_is_named_beside_the_others(checkpoints: Console) -> None:
    folder = write_run(checkpoints.workspace / "runs" / "early", finished=False)
    done = checkpoints.run("frontier", RUN, "early", "--no-bon", "--json")
    assert json.loads(done.stdout)["not_evaluated"] == [str(folder)]
    assert "not evaluated: early is " in done.stderr and "no policy yet" in done.stderr


def test_a_kl_that_is_no_number_makes_no_point(checkpoints: Console) -> None:
    found = frontier(checkpoints, EVALUATE_MODE="nan")["families"]
    assert found["dune"]["checkpoints"] == [] and len(found["ember"]["checkpoints"]) == 2
    assert point(-1.0).root is None and point(math.nan).root is None


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
        await until(pilot, lambda: "root KL" in screen_text(app))


def test_what_was_evaluated_is_looked_up_for_the_runs_that_are_chosen_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work, told = [], []
    monkeypatch.setattr(root_kl_desk, "look", lambda *_: Found())
    behind: Any = Mock(work=lambda group, job: work.append(job))
    behind.place.read_only, behind.background.held = False, nullcontext
    root = root_kl_desk.RootKL(State(), behind, told.append)
    root.look(["a"])
    root.take(FrontierFound(("a",), Found(lacking=[("a step-1", Path("a"))])))
    root.measure()
    root.look(["a", "b"])
    work[1]()
    assert told[0].keys == ("a", "b")


def test_what_cannot_be_evaluated_is_told(console: Console) -> None:
    told: list[Any] = []
    place = Place(console.workspace, console.task, (), False)
    background = Background(place, told.append, lambda group, work: work())
    behind: Any = Mock(place=place, background=background, work=lambda group, job: job())
    root = root_kl_desk.RootKL(State(), behind, told.append)
    root.look([])
    gone = Found(lacking=[(f"{RUN} step-1", console.task / "gone")])
    root.take(FrontierFound((), gone))
    root.measure()
    assert f"not measured: {RUN} step-1" in last_notice(told)
    (console.task / "policy" / "policy.safetensors").unlink()
    root.take(FrontierFound((), gone))
    root.measure()
    assert "policy.safetensors" in last_notice(told)


def last_notice(told: Sequence[Any]) -> str:
    return next(one.text for one in reversed(told) if isinstance(one, Notice))


async def test_read_only_evaluates_nothing(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.open_run(RUN, "run")
        await type_keys(app, "K", "e")
        await until(pilot, lambda: "--read-only: nothing is evaluated" in screen_text(app))
    assert console.evaluated() == 0
