"""What the dashboard must withstand: hostile data at every size, and files that change or go."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from piloting import SIZES, app_over, curves_of, ready, screen_text, type_keys, until
from synthetic import Console, open_terminal, row, write_run
from textual.pilot import Pilot

from tui.app import ConsoleApp


def test_a_pipe_in_a_run_s_place_keeps_nobody_waiting(console: Console) -> None:
    for name in ("log.jsonl", "output.log"):
        folder = write_run(console.workspace / "runs" / f"with {name}")
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    done = console.run("runs", "--json")
    assert done.returncode == 0 and "with output.log" in done.stdout
    with open_terminal(console, 80, 24) as terminal:
        terminal.sees("with log.jsonl")
        terminal.press("/", "with", "enter", "down", "enter", "4")
        terminal.sees("no output: rows")
        terminal.press("\x11")
        assert terminal.wait() == 0


async def walk(app: ConsoleApp, pilot: Pilot, key: str) -> None:
    """Both panes at every size, with the hostile run in the middle of them."""
    table = app.pane.table  # type: ignore[attr-defined]
    for size in SIZES:
        await pilot.resize_terminal(*size)
        table.go_to(key)
        await type_keys(app, "space", "i", "escape", "]", "[", "g", "g", "s", "s")
        table.go_to(key)
        await type_keys(app, "enter")
        await curves_of(app, pilot, key)
        await type_keys(
            app, "L", "m", "m", "m", "L", "m", "v", "left", "home", "end", "V", "V", "z"
        )
        await type_keys(app, "v", "1")


def write_log(folder: Path, *rows: dict) -> None:
    lines = [json.dumps(one) + "\n" for one in rows]
    (folder / "log.jsonl").write_text("".join(lines))


def filled(value: float | None) -> dict:
    """A log row in which every metric is `value`."""
    one = row(1, 2, 800, 1.0, 2.0)
    families = {f: {"n": 20, "proxy_reward": value, "kl": value} for f in one["families"]}
    metrics = ("proxy_reward", "kl", "shaped_reward", "entropy", "loss")
    return {**one, **dict.fromkeys(metrics, value), "families": families}


def nth(value: float | None, step: int) -> dict:
    return {**filled(value), "step": step}


def mixed(*values: float | None) -> Callable[[Path], object]:
    rows = [nth(value, 20 * (place + 1)) for place, value in enumerate(values)]
    return lambda folder: write_log(folder, *rows)


def named(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "run.json").write_text(json.dumps({"name": name}))


HOSTILE: dict[str, Callable[[Path], object]] = {
    "NaN metrics": mixed(float("nan"), float("nan")),
    "NaN between numbers": mixed(1.0, float("nan"), None, 2.0),
    "inf metrics": mixed(float("inf"), float("-inf"), 1.0),
    "1e308 metrics": mixed(1e308, -1e308, 1.7e308, 0.0),
    "tiny metrics": mixed(5e-324, 1e-310, 0.0),
    "huge integers": mixed(10**400, 3),  # type: ignore[arg-type]
    "empty metrics": lambda folder: (folder / "log.jsonl").write_text(""),
    "no log": lambda folder: (folder / "log.jsonl").unlink(),
    "one-row metrics": mixed(0.5),
    "rows without metrics": lambda folder: write_log(folder, {"step": 20}, {"step": 40}),
    "metrics of another type": mixed("x", [1], {}, True),  # type: ignore[arg-type]
    "steps that are no numbers": lambda folder: write_log(folder, {"step": "x"}, {"step": None}),
    "steps far apart": lambda folder: write_log(folder, nth(1.0, 1), nth(2.0, 10**17)),
    "a half-written row": lambda folder: (folder / "log.jsonl").write_text('{"step": 20, "kl": 1.'),
    "a damaged row": lambda folder: (folder / "log.jsonl").write_bytes(b'{"st\xff\n{"step": 20}\n'),
    "a name with brackets": named("loss[/] [b [bold red]x"),
    "a name with escape sequences": named("a\x1b]0;owned\x07\x1b[2J\x1b[31mb\x9b31mc\x07"),
    "a name in CJK": named("漢字の実行" * 9),
    "a name of 10,000 characters": named("x" * 10_000),
    "a name of controls only": named("\x00\x01\x7f\u202e\u200b"),
    "a name with a lone surrogate": named("a\udcffb"),
    "a name with line breaks": named("a\nb\r\nc\td"),
    "an empty config": lambda folder: (folder / "run_config.json").write_text("{}"),
    "a config of other types": lambda folder: (folder / "run_config.json").write_text(
        '{"kl_coef": [], "steps": {}, "family_weights": [1], "seed": "x", "reward_wrapper": 7}'
    ),
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_data_in_every_pane_at_every_size(
    console: Console, spoil: Callable[[Path], object]
) -> None:
    folder = write_run(console.workspace / "runs" / "hostile")
    spoil(folder)
    app = app_over(console)
    async with app.run_test(size=SIZES[0]) as pilot:
        await ready(app, pilot)
        await walk(app, pilot, "hostile")
        assert "hostile" in app.state.runs


async def test_non_finite_points_are_marked_and_counted(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "hostile")
    mixed(1.0, float("inf"), 2.0, float("nan"), 3.0)(folder)
    app = app_over(console)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(app, pilot)
        app.pane.table.go_to("hostile")  # type: ignore[attr-defined]
        await pilot.press("enter")
        await curves_of(app, pilot, "hostile")
        await until(pilot, lambda: "✗ 2 not finite" in screen_text(app))


async def opened(app: ConsoleApp, pilot: Pilot) -> None:
    await ready(app, pilot)
    app.pane.table.go_to("hostile")  # type: ignore[attr-defined]
    await pilot.press("space", "enter")
    await curves_of(app, pilot, "hostile")


async def test_a_run_folder_that_disappears(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "hostile")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        shutil.rmtree(folder)
        await until(pilot, lambda: "hostile" not in app.state.runs)
        assert "hostile" not in app.state.marks and app.state.open_run is None
        await until(pilot, lambda: "No run is open" in screen_text(app))
        await pilot.press("1", "i", "escape")


async def test_a_run_folder_that_is_half_written(console: Console) -> None:
    folder = console.workspace / "runs" / "hostile"
    folder.mkdir(parents=True)
    (folder / "run_config.json").write_text('{"kl_coef": 0.')
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        assert app.state.problems[0]["message"] == "is not valid JSON"
        (folder / "run_config.json").write_text('{"kl_coef": 0.7}')
        await until(pilot, lambda: app.state.runs["hostile"]["kl_coef"] == 0.7)
        assert not app.state.problems


async def test_a_log_that_is_truncated_while_shown(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "hostile")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        write_log(folder, nth(0.25, 20))
        await until(pilot, lambda: app.state.curves["hostile"].steps == [20.0])
        await until(pilot, lambda: "0.25" in screen_text(app))


async def test_a_task_folder_that_disappears(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        shutil.move(console.task, console.place / "away")
        await until(pilot, lambda: "is not there" in screen_text(app))
        shutil.move(console.place / "away", console.task)
        await until(pilot, lambda: "is not there" not in screen_text(app))


async def test_cursor_marks_sort_and_scroll_stay_while_rows_change(console: Console) -> None:
    runs = console.workspace / "runs"
    for number in range(60):
        write_run(runs / f"run-{number:02d}", proxy=number / 10, rows=2)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        table = app.pane.table  # type: ignore[attr-defined]
        await app.action_sort_by("dev.proxy")
        table.go_to("run-20")
        await pilot.press("space", "up")
        line = table.view.row - table.view.top
        for number in range(5):
            write_run(runs / f"new-{number}", proxy=50.0 + number, rows=2)
        await until(pilot, lambda: app.state.rows()[0].key == "new-4")  # read whole
        assert table.cursor_row.key == "run-20"
        assert table.view.row - table.view.top == line
        assert list(app.state.marks) == ["run-20"]


async def test_filters_that_are_not_finished_change_nothing(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("slash", *"kl<0.2 dume.")
        await pilot.press("greater_than_sign", "1")
        await until(pilot, lambda: "did you mean" in screen_text(app))
        assert app.state.filter == "kl<0.2 dume."
        await pilot.press("escape")
        await until(pilot, lambda: app.state.filter == "")
