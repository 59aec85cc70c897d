"""The Logs pane over hostile logs, and runs that wrote no output but rows."""

import asyncio
import json
import time

import pytest
from piloting import SIZES, app_over, ready, screen_text, type_keys, until
from synthetic import Console, write_run
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from sessions.log_pages import Line
from sessions.log_text import row_text
from tui.app import ConsoleApp
from tui.messages import PageRead
from tui.screens.log_taking import MOST_COPIED
from tui.screens.logs import LogsPane
from tui.widgets.log_view import LogView

HOSTILE = {
    "binary garbage": bytes(range(256)) * 500,
    "no newline for 100 MB": b"x" * 10**8,
    "torn last line": b"whole\ntorn",
    "control sequences": b"\x1b[2J\x1b]52;c;aGk=\x07red\x1b[0m\n" * 50,
    "lines of 10,000 characters": (b"y" * 10_000 + b"\n") * 60,
    "CJK": ("日本語" * 100 + "\n").encode() * 60,
    "empty lines": b"\n" * 5000,
    "a progress bar without end": b"10%\r20%\r" * 100_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_hostile_log_at_every_size(data: bytes, console: Console) -> None:
    folder = console.workspace / "runs" / "run"
    write_run(folder)
    (folder / "output.log").write_bytes(data)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for key in ("end", "pageup", "up", "right", "W", "left", "v", "home", "v", "m", "m"):
                await type_keys(app, key)
                await pilot.pause(0.02)
                assert not any(ord(c) < 32 and c != "\n" for c in screen_text(app))


async def opened(app: ConsoleApp, pilot: Pilot) -> None:
    """The Logs pane with its first page."""
    await ready(app, pilot)
    app.state.logged = "run"
    await pilot.press("4")
    await until(pilot, lambda: app.pane._page.size > 0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a|a)*b"])
async def test_a_pathological_regex_is_cancelled_and_costs_no_frame(
    pattern: str, console: Console
) -> None:
    folder = console.workspace / "runs" / "run"
    write_run(folder)
    (folder / "output.log").write_text("a" * 9_999 + "!\n")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        app.pane._look_for(pattern, True)  # type: ignore[attr-defined]
        await until(pilot, lambda: app.pane._page.searching)  # type: ignore[attr-defined]
        began = time.process_time()
        for _ in range(50):
            await asyncio.sleep(0.01)
        assert time.process_time() - began < 0.25, "the search takes this process's time"
        await pilot.press("escape")
        await until(pilot, lambda: not app.pane._page.searching)  # type: ignore[attr-defined]


async def test_a_copy_is_cut_at_what_a_terminal_takes(console: Console) -> None:
    folder = console.workspace / "runs" / "run"
    write_run(folder)
    (folder / "output.log").write_text(("é" * 9_000 + "\n") * 20)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("home")
        await until(pilot, lambda: not app.pane._page.following)  # type: ignore[attr-defined]
        await pilot.press("v", *["down"] * 8, "y")
        await until(pilot, lambda: app.clipboard)
        assert MOST_COPIED - 4 < len(app.clipboard.encode()) <= MOST_COPIED


@pytest.mark.parametrize("output", ["absent", "empty"])
async def test_a_run_without_output_shows_its_rows_as_lines(output: str, console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "run", rows=40)
    if output == "empty":
        (folder / "output.log").write_text("")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(
            pilot, lambda: "step    800  proxy      1  KL      2 nats (k1)" in screen_text(app)
        )
        await until(pilot, lambda: "no output: rows" in screen_text(app))
        app.pane._look_for("step +400 .*KL +1 nats", True)  # type: ignore[attr-defined]
        await until(pilot, lambda: app.pane._page.filtered and app.pane._page.lines)  # type: ignore[attr-defined]
        (line,) = app.pane._page.lines  # type: ignore[attr-defined]
        assert line.text.startswith("step    400")
        await pilot.press("escape", "m")
        await until(pilot, lambda: '"proxy_reward"' in screen_text(app))


def test_logs_of_a_run_without_output_are_its_rows_and_that_is_said(console: Console) -> None:
    done = console.run("logs", "default-s800", "-n", "2")
    assert done.stdout.splitlines()[1].startswith("step    800  proxy   1.32  KL    3.8 nats (k1)")
    assert "wrote no output" in done.stderr
    found = console.run("logs", "default-s800", "--grep", "step +20 ")
    assert len(found.stdout.splitlines()) == 1 and "proxy" in found.stdout
    raw = console.run("logs", "default-s800", "-n", "1", "--metrics")
    assert json.loads(raw.stdout)["step"] == 800


@pytest.mark.parametrize(
    "row",
    ["", "null", "[1]", '{"a": 1}', '{"step": "\x1b[2J"}', "[" * 9000, '{"step": 1e999}', "{"],
)
def test_what_is_no_row_stays_as_it_is(row: str) -> None:
    assert row_text(row) == row


def test_a_row_is_told_by_its_numbers_alone() -> None:
    hostile = '{"step": 3, "kl": null, "loss": "\\u001b[2J", "entropy": true, "proxy_reward": 0.5}'
    assert row_text(hostile) == (
        "step      3  proxy    0.5  KL not finite nats (k1)  entropy ?  loss ?"
    )
    assert row_text(f'{{"step": 3, "kl": 1{"0" * 400}}}') == "step      3  KL ? nats (k1)"


async def test_a_run_that_wrote_nothing_says_so_once(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.state.logged = "reference"
        await pilot.press("4")
        await until(pilot, lambda: "nor metrics: o chooses another" in screen_text(app))
        assert "nothing written yet" not in screen_text(app)


def _two_logs(console: Console) -> None:
    for name in ("run", "other"):
        folder = write_run(console.workspace / "runs" / name)
        (folder / "output.log").write_text(f"line of {name}\n" * 3)


async def test_a_range_is_of_the_log_in_which_it_was_begun(console: Console) -> None:
    _two_logs(console)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("home", "v")
        app.state.logged = "other"
        app.pane.update()
        await until(pilot, lambda: "line of other" in screen_text(app))
        await pilot.press("end", "y")
        await until(pilot, lambda: app.clipboard)
        assert app.clipboard == "line of other"


async def test_a_page_of_the_log_before_is_not_shown_under_the_name_of_the_next(
    console: Console,
) -> None:
    _two_logs(console)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        pane = app.pane
        assert isinstance(pane, LogsPane)
        under_way = PageRead(pane._page)
        app.state.logged = "other"
        pane.update()
        pane.on_page_read(under_way)
        assert not pane._page.lines
        await until(pilot, lambda: "line of other" in screen_text(app))


async def test_lines_that_come_before_there_is_room_for_them_are_shown() -> None:
    """As of a log that has ended: no other page comes."""
    view = LogView()
    view.show([Line(0, "first"), Line(6, "second")], {}, range(0), "")

    class OneLog(App[None]):
        def compose(self) -> ComposeResult:
            yield view

    app = OneLog()
    async with app.run_test(size=(40, 10)) as pilot:
        await until(pilot, lambda: "second" in screen_text(app))
