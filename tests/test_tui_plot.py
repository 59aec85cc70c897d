"""Axes, gaps, marks and thinning of curves; following a log that grows."""

import json
import math
import threading
from pathlib import Path

import pytest
from toy_lab import eventually

from tui import pollers
from tui.background import Background
from tui.curves import Curve, Follower
from tui.place import Place
from tui.plotting import MOST_POINTS, Drawing, Options, Series, draw, thinned
from tui.readout import value_at
from tui.scales import axis_over

NAN, INF = math.nan, math.inf


def area(drawing: Drawing) -> list[str]:
    """The plotting area without labels and axes."""
    return ["".join(c for c, _ in row[drawing.left :]) for row in drawing.grid[:-2]]


def ascii_plot(ys: list, width: int = 13, height: int = 7, **options: object) -> list[str]:
    series = Series(0, list(range(0, 10 * len(ys), 10)), ys)
    return area(draw([series], Options(width, height, ascii=True, **options)))  # type: ignore[arg-type]


def test_a_rising_line_goes_from_bottom_left_to_top_right() -> None:
    lines = ascii_plot([0.0, 1.0, 2.0, 3.0, 4.0])
    assert lines[0].rstrip().endswith("*") and lines[-1].startswith("*")
    columns = [line.index("*") for line in lines]
    assert columns == sorted(columns, reverse=True)


def test_a_missing_value_is_a_gap() -> None:
    whole = "".join(ascii_plot([1.0, 1.0, 1.0, 1.0, 1.0], width=40)).count("*")
    broken = "".join(ascii_plot([1.0, 1.0, None, 1.0, 1.0], width=40)).count("*")
    assert broken < 0.6 * whole


def test_missing_rows_are_a_gap() -> None:
    xs = [0.0, 10.0, 20.0, 100.0, 110.0]
    series = Series(0, xs, [1.0] * 5)
    line = next(t for t in area(draw([series], Options(60, 7, ascii=True))) if "*" in t)
    assert "*" + " " * 20 in line


@pytest.mark.parametrize(("bad", "row"), [(NAN, 0), (INF, 0), (-INF, -1)])
def test_a_non_finite_point_is_marked_where_it_belongs(bad: float, row: int) -> None:
    drawing = draw([Series(0, [0.0, 1.0, 2.0], [1.0, bad, 2.0])], Options(20, 8))
    assert area(drawing)[row].count("✗") == 1
    assert drawing.nonfinite == 1


def test_a_log_axis_counts_what_has_no_place() -> None:
    drawing = draw([Series(0, [0.0, 1.0, 2.0], [-1.0, 0.0, 100.0])], Options(20, 8, log=True))
    assert drawing.not_positive == 2


def test_decades_are_equally_far_apart_on_a_log_axis() -> None:
    axis = axis_over([1.0, 1000.0], True, 9)
    places = [axis.place(value) for value in (1.0, 10.0, 100.0, 1000.0)]
    assert places == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert [label for _, label in axis.ticks] == ["1", "10", "100", "1000"]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 1.0], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([0.31, 1.2], ["0.4", "0.6", "0.8", "1.0", "1.2"]),
        ([-20.0, 30.0], ["-20", "-10", "0", "10", "20", "30"]),
        ([5.0, 5.0], ["4.6", "4.8", "5.0", "5.2", "5.4"]),
    ],
)
def test_ticks_are_round(values: list[float], labels: list[str]) -> None:
    assert [label for _, label in axis_over(values, False, 6).ticks] == labels


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values",
    [[], [NAN], [INF, -INF], [1e308, -1e308], [1.7e308], [5e-324], [0.0], [1e17, 1e17 + 2]],
    ids=str,
)
def test_every_axis_has_places_between_0_and_1(values: list[float], log: bool) -> None:
    axis = axis_over(values, log, 5)
    places = [place for value in values if (place := axis.place(value)) is not None]
    assert all(0 <= place <= 1 for place in places)
    assert len(axis.ticks) <= 6


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 1), (1, 9), (80, 2), (200, 60)])
def test_a_drawing_has_the_size_that_was_asked_for(size: tuple[int, int]) -> None:
    grid = draw([Series(0, [1.0, 2.0], [1.0, 1e308])], Options(*size)).grid
    assert (len(grid[0]), len(grid)) == size and len({len(row) for row in grid}) == 1


def test_thinning_keeps_extremes_and_what_is_not_finite() -> None:
    ys: list[float | None] = [math.sin(n / 1000) for n in range(100_000)]
    ys[500], ys[70_000], ys[90_000] = 9.0, -9.0, NAN
    kept = thinned(Series(0, list(map(float, range(100_000))), ys))
    values = [y for _, y in kept if y is not None]
    assert len(kept) <= 2 * MOST_POINTS
    assert {9.0, -9.0} <= set(values) and any(math.isnan(y) for y in values)


def test_the_last_series_is_on_top() -> None:
    one, other = (Series(slot, [0.0, 1.0], [1.0, 1.0]) for slot in (0, 1))
    owners = {owner for row in draw([one, other], Options(30, 8)).grid for _, owner in row}
    assert 1 in owners and 0 not in owners


def rows(*steps: int) -> str:
    return "".join(json.dumps({"step": s, "kl": s / 10}) + "\n" for s in steps)


def looked(follower: Follower) -> Curve:
    curve = follower.look()
    assert curve is not None
    return curve


def test_a_follower_reads_only_what_is_whole_and_new(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(rows(20) + '{"step": 40, "k')
    follower = Follower(log)
    assert looked(follower).steps == [20]
    assert follower.look() is None
    with open(log, "a") as file:
        file.write('l": 4.0}\n')
    assert looked(follower).values["kl"] == [2.0, 4.0]


def test_a_follower_starts_anew_when_the_log_was_truncated_or_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(rows(20, 40, 60))
    follower = Follower(log)
    follower.look()
    log.write_text(rows(20))
    assert looked(follower).steps == [20]
    other = tmp_path / "other"
    other.write_text(rows(10, 30, 50, 70))
    other.replace(log)
    assert looked(follower).steps == [10, 30, 50, 70]


def test_a_log_that_is_followed_again_is_told_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, posted = tmp_path / "log.jsonl", []
    looking, go_on, real = threading.Event(), threading.Event(), pollers._look

    def look(follower: Follower, is_new: bool) -> Curve | None:
        looking.set()
        go_on.wait(60)
        return real(follower, is_new)

    monkeypatch.setattr(pollers, "_look", look)
    background = Background(Place(tmp_path, tmp_path, (), True), posted.append, lambda *_: None)
    log.write_text(rows(20))
    go_on.set()
    background.follow({"a": log})
    thread = threading.Thread(target=background._follow)
    thread.start()
    eventually(lambda: len(posted) == 1)
    go_on.clear()
    looking.clear()
    looking.wait(60)
    background.follow({})  # and its curve is forgotten
    background.follow({"a": log})
    go_on.set()
    eventually(lambda: len(posted) == 2)
    background.end()
    thread.join(60)
    assert posted[1].curves["a"].steps == [20]


def test_steps_that_a_resumed_run_logs_again_replace_the_old(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(rows(20, 40, 60, 40, 60, 80))
    assert looked(Follower(log)).steps == [20, 40, 60, 80]


def test_null_is_not_finite_but_a_family_without_prompts_is_a_gap(tmp_path: Path) -> None:
    families = {"dune": {"n": 0, "kl": None}, "ember": {"n": 5, "kl": None}}
    line = {"step": 20, "kl": None, "proxy_reward": 1.0, "families": families}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    curve = looked(Follower(tmp_path / "log.jsonl"))
    assert math.isnan(curve.series("KL", "overall")[0] or 0)
    assert math.isnan(curve.series("KL", "ember")[0] or 0)
    assert curve.series("KL", "dune") == [None]


def test_a_damaged_line_is_counted(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(rows(20) + "nonsense\n[]\n" + rows(40))
    curve = looked(Follower(tmp_path / "log.jsonl"))
    assert (curve.steps, curve.bad_lines) == ([20, 40], 2)


@pytest.mark.parametrize(
    ("at", "text"), [(10, "-"), (20, "0.51"), (25, "0.51"), (40, "NaN"), (60, "+inf"), (61, "-")]
)
def test_a_value_is_read_at_the_row_at_or_before_a_step(at: float, text: str) -> None:
    curve = Curve([20.0, 40.0, 60.0], {"kl": [0.51234567, NAN, INF]})
    assert value_at(curve, "KL", "overall", at) == text
    in_full = value_at(curve, "KL", "overall", at, in_full=True)
    assert in_full == text.replace("0.51", "0.512346")
