"""What the dashboard knows: rows, marks, groups, colours; numbers as text."""

from pathlib import Path
from typing import Any

import pytest

from sessions.catalogue import Listing
from tui.columns import COLUMNS, cell, laid_out
from tui.compare import differences
from tui.explain import explain
from tui.fields import FIELDS
from tui.filter import FilterError
from tui.render import age, ascii_only, clean, figure, fit, mix, pad, width, with_error
from tui.state import Row, State
from tui.viewport import Viewport


def run(name: str, **facts: Any) -> dict[str, Any]:
    keys = ("reason", "kl_coef", "steps", "mix", "wrapper", "seed", "parent", "created")
    empty = dict.fromkeys((*keys, "balanced", "eval", "train"))
    base = {"id": name, "name": name, "state": "finished", "step": 800, "dev": None}
    return {**empty, **base, "families": {}, "tags": [], "nonfinite": [], **facts}


def listing(*runs: dict[str, Any], recipes: dict[str, str] | None = None) -> Listing:
    folders = {one["id"]: Path("/runs") / one["id"] for one in runs}
    return Listing(list(runs), folders, {**dict.fromkeys(folders), **(recipes or {})})


def state_of(*runs: dict[str, Any], recipes: dict[str, str] | None = None) -> State:
    state = State()
    state.take(listing(*runs, recipes=recipes))
    return state


def keys(state: State) -> list[str]:
    return [row.key for row in state.rows()]


def test_taking_the_same_listing_again_changes_nothing() -> None:
    state = State()
    assert state.take(listing(run("a")))
    assert not state.take(listing(run("a")))
    assert state.take(listing(run("a", step=820)))


def test_missing_values_come_last_in_both_directions() -> None:
    state = state_of(run("a"), run("b", kl_coef=0.5), run("c", kl_coef=0.1))
    state.sort_by("kl_coef", False)
    assert keys(state) == ["c", "b", "a"]
    state.sort_by("kl_coef", True)
    assert keys(state) == ["b", "c", "a"]
    state.sort_by(None, False)
    assert keys(state) == ["a", "b", "c"]


def test_rare_columns_are_shown_once_they_hold_something() -> None:
    plain = run("a", verdict=None)
    assert {"wrapper", "verdict"}.isdisjoint(state_of(plain).columns_shown())
    wrapped = state_of(plain, run("b", verdict=None, wrapper="/w/clip.py"))
    assert "wrapper" in wrapped.columns_shown() and "verdict" not in wrapped.columns_shown()
    shown = wrapped.columns_shown()
    assert shown.index("wrapper") == shown.index("balanced.kl") + 1


def test_a_filter_that_cannot_be_read_leaves_the_rows() -> None:
    state = state_of(run("a"), run("b"))
    state.set_filter("a")
    with pytest.raises(FilterError):
        state.set_filter("a>")
    assert keys(state) == ["a"] and state.filter == "a"


def test_marks_outlive_filters_and_end_with_their_run() -> None:
    state = state_of(run("a"), run("b"))
    state.toggle_marks(["a", "b"])
    state.set_filter("b")
    assert list(state.marks) == ["a", "b"]
    state.take(listing(run("b")))
    assert list(state.marks) == ["b"]


def test_a_shown_run_keeps_its_colour_and_no_two_share_one() -> None:
    state = state_of(*(run(name) for name in "abcd"))
    state.toggle_marks(["a"])
    state.toggle_marks(["b"])
    state.open("c")
    slots = dict(state.slots)
    state.toggle_marks(["a"])
    state.toggle_marks(["d"])
    assert all(state.slots[key] == slots[key] for key in "bc")
    assert len(set(state.slots.values())) == len(state.slots) == 3


def test_seeds_of_one_recipe_are_one_row_with_mean_and_spread() -> None:
    runs = [run(f"s{n}", seed=n, dev={"proxy": float(n), "kl": None}) for n in (1, 2, 3)]
    state = state_of(*runs, run("other"), recipes=dict.fromkeys(("s1", "s2", "s3"), "r"))
    state.group_seeds(True)
    group = state.rows()[0]
    assert [len(row.runs) for row in state.rows()] == [3, 1]
    # mean of 1, 2, 3 is 2; the sample's standard deviation is 1
    assert cell(group, COLUMNS["dev.proxy"]) == "2.00±1.00"
    assert cell(group, COLUMNS["name"]) == "s1 (n=3)"
    assert cell(group, COLUMNS["seed"]) == "3 kinds"
    said = dict(explain(group, FIELDS["dev.proxy"], state.folders))
    assert said["n"] == "3 of 3 runs have a value" and said["mean"] == "2 RM score"


def test_why_a_cell_is_empty_is_said() -> None:
    row = Row("a", (run("a", state="running"),))
    said = dict(explain(row, FIELDS["dune.kl"], {}))
    assert said["value"] == "none" and "running" in said["why"]


def test_a_figure_that_was_not_finite_is_marked_and_explained() -> None:
    row = Row("a", (run("a", nonfinite=["dune.kl"]),))
    assert cell(row, COLUMNS["dune.kl"]) == "✗"
    assert "not finite" in dict(explain(row, FIELDS["dune.kl"], {}))["value"]


def test_only_settings_that_differ_are_named() -> None:
    configs = {"a": {"kl": 1, "lr": 2}, "b": {"kl": 1, "lr": 3, "new": 4}}
    assert differences(configs) == [("lr", {"a": 2, "b": 3}), ("new", {"a": None, "b": 4})]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "-"),
        ("1", "-"),
        (0, "0.00"),
        (0.305, "0.30"),
        (-0.2, "-0.20"),
        (11.93, "11.9"),
        (123.4, "123"),
        (0.001, "1e-03"),
        (123456, "1.2e+05"),
        (1e308, "1e+308"),
        (10**400, ">1e308"),
        (float("nan"), "NaN"),
        (float("-inf"), "-inf"),
    ],
)
def test_figures_are_short(value: Any, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (1.234, 0.0123, "1.23±.01"),
        (11.93, 0.34, "11.9±.3"),
        (0.3, 0.004, "0.30±<.01"),
        (0.0, 0.0, "0.00±.00"),
        (2.0, None, "2.00"),
        (None, 0.1, "-"),
    ],
)
def test_a_mean_and_its_error_have_the_same_decimals(mean: Any, error: Any, text: str) -> None:
    assert with_error(mean, error) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mx", "31mx"),
        ("a\nb\tc", "a b c"),
        ("\u202eevil\u200b", "evil"),
        ("\udcff", ""),
        ("漢字", "漢字"),
        ("[/] [b", "[/] [b"),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_cutting_counts_cells_not_characters() -> None:
    assert fit("漢字漢字", 5) == "漢字…" and width(pad("漢字漢字", 6)) == 6
    assert fit("abc", 3) == "abc" and fit("abcd", 3) == "ab…" and fit("abc", 0) == ""
    assert ascii_only("✓ 漢│±") == "v ??|~"


def test_mixes_in_brief() -> None:
    assert mix(dict.fromkeys("abcdef", 1 / 6)) == "equal"
    assert mix({"anvil": 0.5, "birch": 0.5}) == "ab equal"
    assert mix({"anvil": 0.45, "dune": 0.1, "birch": 0.45}) == "ab.45 d.1"


@pytest.mark.parametrize("stamp", [None, 7, "yesterday", "2026-01-01T00:00:00"])
def test_an_age_that_cannot_be_told_is_none(stamp: Any) -> None:
    assert age(stamp) == "-"


def test_a_viewport_keeps_its_cursor_on_screen() -> None:
    view = Viewport()
    view.fit(100, [], 80, 10)
    view.move(50, 0)
    assert (view.top, view.bottom) == (41, 51)
    view.carry(70)
    assert view.row - view.top == 9
    view.fit(20, [], 80, 10)
    assert (view.row, view.top) == (19, 10)
    view.fit(0, [], 80, 10)
    assert (view.row, view.top) == (0, 0)


def test_a_viewport_that_grew_has_no_empty_room() -> None:
    columns = [COLUMNS[key] for key in ("state", "name", "kl_coef", "steps", "seed")]
    laid = laid_out([column.key for column in columns], 200, 10, False)
    view = Viewport()
    view.fit(3, laid, 30, 5)
    view.move(0, len(laid) - 1)
    assert len(view.shown()) < len(laid)
    view.fit(3, laid, 200, 5)
    assert len(view.shown()) == len(laid)
