"""The Logs pane over hostile logs, and what its reader makes of them."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from piloting import SIZES, app_over, ready, screen_text, type_keys, until
from synthetic import Console, write_run
from textual.pilot import Pilot

from sessions.log_text import row_text
from tui.app import ConsoleApp
from tui.log_page import Page
from tui.log_reading import FAILED, LogReader
from tui.screens.log_taking import MOST_COPIED


class Reading:
    """A reader in a thread, and the pages it posted."""

    def __init__(self, path: Path) -> None:
        self.pages: list[Page] = []
        self.reader = LogReader(self.pages.append, threading.Event())
        self.reader.resize(10)
        self.reader.open(path)
        self._thread = threading.Thread(target=self.reader.run)
        self._thread.start()

    def until(self, what: Callable[[Page], object], seconds: float = 10.0) -> Page:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.pages and what(self.pages[-1]):
                return self.pages[-1]
            time.sleep(0.01)
        raise AssertionError(f"last: {self.pages[-1:]}")

    def end(self) -> None:
        self.reader.close()
        self._thread.join(10)
        assert not self._thread.is_alive()


@contextmanager
def reader_of(path: Path) -> Iterator[Reading]:
    """A reader of a log, ended with the block."""
    one = Reading(path)
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "output.log"


@pytest.fixture
def reading(log: Path) -> Iterator[Reading]:
    with reader_of(log) as one:
        yield one


def text(page: Page) -> list[str]:
    return [line.text for line in page.lines]


def numbered(first: int, last: int) -> str:
    return "".join(f"line {n}\n" for n in range(first, last))


def test_scrolling_up_stops_following_and_the_end_follows_again(log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        assert one.until(lambda p: p.lines).first == 91
        one.reader.move(-5)
        page = one.until(lambda p: not p.following)
        assert text(page)[0] == "line 85" and page.first == 86
        with open(log, "a") as file:
            file.write(numbered(100, 120))
        assert text(one.until(lambda p: p.known == 120))[0] == "line 85"
        one.reader.move(1000)
        assert text(one.until(lambda p: p.following))[-1] == "line 119"


def test_nothing_written_yet_then_lines_then_gone(log: Path, reading: Reading) -> None:
    reading.until(lambda p: p.said == "nothing written yet")
    log.write_text("first\n")
    assert text(reading.until(lambda p: p.lines)) == ["first"]
    log.unlink()
    reading.until(lambda p: p.said == "the file is gone")


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_log_that_is_another_one_is_said(how: str, log: Path, reading: Reading) -> None:
    log.write_text(numbered(0, 50))
    reading.until(lambda p: p.lines)
    if how == "replaced":
        (log.parent / "new").write_text("other\n")
        (log.parent / "new").replace(log)
    else:
        log.write_text("other\n")
    assert text(reading.until(lambda p: how in p.said)) == ["other"]


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
        gaps = []
        for _ in range(50):
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - began)
        assert sorted(gaps)[25] < 0.1
        await pilot.press("escape")
        await until(pilot, lambda: not app.pane._page.searching)  # type: ignore[attr-defined]


def test_a_filter_shows_only_what_matches_and_goes_on(log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("7$", True)
        assert text(one.until(lambda p: p.found == 10))[-1] == "line 97"
        with open(log, "a") as file:
            file.write(numbered(100, 110))
        page = one.until(lambda p: p.found == 11)
        assert text(page)[-1] == "line 107" and page.spans[page.lines[-1].offset] == (7, 8)
        one.reader.cancel()
        assert text(one.until(lambda p: not p.filtered))[-1] == "line 109"


@pytest.mark.parametrize("how", ["truncated", "replaced", "rewritten longer"])
def test_a_filter_forgets_a_log_that_is_another_one(how: str, log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("7$", True)
        one.until(lambda p: p.found == 10 and not p.searching)
        new = log.parent / "new" if how == "replaced" else log
        new.write_text(
            "a new 7\nline 97 no more\n" + "x" * 2000 * (how == "rewritten longer") + "\n"
        )
        new.replace(log)
        assert text(one.until(lambda p: p.found == 1 and p.lines)) == ["a new 7"]
        with open(log, "a") as file:
            file.write("another 7\n")
        assert text(one.until(lambda p: p.found == 2)) == ["a new 7", "another 7"]


def test_a_filter_over_most_of_a_huge_log_shows_its_newest_lines_at_once(log: Path) -> None:
    log.write_text(numbered(0, 400_000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("line", True)
        page = one.until(lambda p: p.filtered and p.lines, 15)
        assert text(page)[-1] == "line 399999", "the oldest came first"
        page = one.until(lambda p: not p.searching, 15)
        assert page.following and text(page)[-1] == "line 399999" and 10_000 <= page.found < 20_000


def test_a_search_with_very_many_matches_goes_to_the_first(log: Path) -> None:
    log.write_text(numbered(0, 30_000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("line", False)
        page = one.until(lambda p: not p.searching and p.found, 30)
        assert text(one.until(lambda p: not p.following))[0] == "line 0" and page.found == 10_000


@pytest.mark.parametrize("only", [True, False], ids=["filter", "search"])
def test_a_search_whose_child_dies_is_no_log_without_a_match(log: Path, only: bool) -> None:
    log.write_text("a" * 10_000 + "\n")
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("(a+)+$(?<=b)", only)
        one.until(lambda p: p.searching)
        os.kill(one.reader._matched._search._child.pid, signal.SIGKILL)  # type: ignore[union-attr]
        page = one.until(lambda p: not p.searching, 30)
        assert page.said == FAILED and page.filtered == only
        one.reader.cancel()
        one.reader.search("a", only)
        assert one.until(lambda p: p.found, 30).said != FAILED


def test_a_filter_that_nothing_matches_says_so(log: Path) -> None:
    log.write_text(numbered(0, 5000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("nowhere", True)
        assert not one.until(lambda p: p.filtered and not p.searching, 15).lines


def test_ten_thousand_lines_a_second_are_followed_without_missing_one(log: Path) -> None:
    log.write_text("")
    with reader_of(log) as one:
        began, posts = time.monotonic(), len(one.pages)
        with open(log, "a", buffering=1 << 12) as file:
            for tick in range(20):
                file.write(numbered(500 * tick, 500 * tick + 500))
                file.flush()
                time.sleep(max(0.0, began + 0.05 * (tick + 1) - time.monotonic()))
        page = one.until(lambda p: p.following and text(p)[-1:] == ["line 9999"])
        assert page.known == 10_000 and text(page) == [f"line {n}" for n in range(9_990, 10_000)]
        assert (len(one.pages) - posts) / (time.monotonic() - began) <= 10


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
        assert "no output: rows" in screen_text(app)
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


def test_the_last_lines_that_match_are_the_last_of_very_many(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "run")
    (folder / "output.log").write_text(numbered(0, 30_000))
    found = console.run("logs", "run", "--grep", "line", "-n", "2")
    assert found.stdout.splitlines() == ["line 29998", "line 29999"]
    assert console.run("logs", "run", "--grep", "line", "-n", "0").stdout == ""


def torn_run(console: Console) -> Path:
    """A run whose last words were cut off, after more matches than one search keeps."""
    log = write_run(console.workspace / "runs" / "run", rows=4) / "output.log"
    log.write_text(numbered(0, 600_000) + "fatal: killed in the middle of")
    return log


def test_logs_show_the_last_lines_that_match_of_a_huge_log(console: Console) -> None:
    torn_run(console)
    found = console.run("logs", "run", "--grep", "line", "-n", "2").stdout.splitlines()
    assert found == ["line 599998", "line 599999"]
    for words in (["--errors"], ["--grep", "fatal", "--follow"]):
        assert console.run("logs", "run", *words).stdout == "fatal: killed in the middle of\n"


def test_a_last_line_without_end_is_found(console: Console) -> None:
    log = torn_run(console)
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("fatal|599999", False)
        one.until(lambda p: p.found == 2 and not p.searching)
        one.reader.next_match(1)
        assert text(one.until(lambda p: len(p.lines) == 2))[0] == "line 599999"
        one.reader.next_match(1)
        assert text(one.until(lambda p: len(p.lines) == 1)) == ["fatal: killed in the middle of"]
        one.reader.search("fatal", True)
        one.until(lambda p: p.filtered and p.found == 1)
        with open(log, "a") as file:
            file.write(" it\n")
        assert one.until(lambda p: text(p) == ["fatal: killed in the middle of it"]).found == 1


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


def test_the_same_log_asked_for_again_is_told_again(log: Path) -> None:
    log.write_text(numbered(0, 3))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        told = len(one.pages)
        one.reader.open(log)
        one.until(lambda p: len(one.pages) > told and p.lines)


def test_a_search_without_a_match_says_so(log: Path) -> None:
    log.write_text(numbered(0, 3))
    with reader_of(log) as one:
        one.reader.search("nowhere", only=False)
        assert one.until(lambda p: p.said).said == "no line matches"


def test_a_log_that_cannot_be_looked_at_ends_no_reader(log: Path) -> None:
    log.write_text("there\n")
    with reader_of(log.with_name("x" * 300)) as one:
        assert "cannot be read" in one.until(lambda p: p.said).said
        one.reader.open(log)
        assert text(one.until(lambda p: p.lines)) == ["there"]


async def test_a_run_that_wrote_nothing_says_so_once(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.state.logged = "reference"
        await pilot.press("4")
        await until(pilot, lambda: "nor metrics: o chooses another" in screen_text(app))
        assert "nothing written yet" not in screen_text(app)
