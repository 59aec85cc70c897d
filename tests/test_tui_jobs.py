"""The Jobs pane: its rows, its cursor, what it refuses and what it asks to be done."""

from typing import Any

import pytest
from piloting import app_over, jobs_shown, screen_text, until
from synthetic import Console

from sessions.progress import Progress
from tui.app import ConsoleApp
from tui.job_rows import head_text, job_text, progress_bar
from tui.messages import JobsChanged
from tui.place import Place
from tui.render import width

JOBS = [
    Progress("a", "run", "kl01", "running", None, 40, 100, 0.5, 300.0),
    Progress("b", "run", "kl02", "queued", None, 0, 100, None, None, 1),
    Progress("c", "run", "kl03", "queued", None, 0, 100, None, None, 2),
]


def writable(console: Console, asked: list[tuple[str, ...]], monkeypatch: Any) -> ConsoleApp:
    app = ConsoleApp(Place(console.workspace, console.task, (), False), "dark")
    monkeypatch.setattr(app, "perform", lambda words, done=None: asked.append(tuple(words)))
    return app


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
async def test_rows_say_how_far_and_the_bar_too(size: tuple[int, int], console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=size) as pilot:
        await jobs_shown(app, pilot, JOBS)
        await until(pilot, lambda: "1 run 40%  2 wait" in screen_text(app).splitlines()[0])
        await until(pilot, lambda: all(x in screen_text(app) for x in ("40%", "40/100", "5m")))


async def test_the_empty_pane_says_what_to_do(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, [])
        await until(pilot, lambda: "Nothing runs and nothing waits" in screen_text(app))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["p"], ("jobs", "pause")),
        (["down", "J"], ("jobs", "move", "b", "--to", "3")),
        (["down", "down", "K"], ("jobs", "move", "c", "--to", "2")),
        (["X", "y"], ("stop", "a", "--yes")),
    ],
)
async def test_keys_ask_for_the_command(
    keys: list[str], words: tuple[str, ...], console: Console, monkeypatch: Any
) -> None:
    asked: list[tuple[str, ...]] = []
    app = writable(console, asked, monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, JOBS)
        await pilot.press(*keys)
        await until(pilot, lambda: asked == [words])


async def test_a_stop_that_is_not_confirmed_does_nothing(
    console: Console, monkeypatch: Any
) -> None:
    asked: list[tuple[str, ...]] = []
    app = writable(console, asked, monkeypatch)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, JOBS)
        for key in ("escape", "n", "enter"):
            await pilot.press("X")
            await until(pilot, lambda: "y does it" in screen_text(app))
            await pilot.press(key)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
    assert asked == []


async def test_read_only_refuses_what_changes_anything(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, JOBS)
        for key in ("p", "J", "K", "X"):
            app.say("")
            await pilot.press(key)
            await until(pilot, lambda: "--read-only" in screen_text(app).splitlines()[-1])


@pytest.mark.parametrize("name", ["\x1b[2Jevil", "日本語" * 60, "x" * 5000, ""])
@pytest.mark.parametrize("room", [80, 160])
def test_a_hostile_name_keeps_the_columns(name: str, room: int) -> None:
    usual = job_text(JOBS[1], room)
    text = job_text(Progress("b", "run", name, "queued", None, 0, 100, None, None, 1), room)
    assert width(text) == width(usual) and "\x1b" not in text


@pytest.mark.parametrize("done", [None, -1.0, 0.0, 0.5, 1.0, 7.0])
def test_a_bar_is_always_as_wide(done: float | None) -> None:
    assert width(progress_bar(done)) == width(progress_bar(0.3))
    assert width(progress_bar(done, 0)) == width(progress_bar(0.3, 0))


@pytest.mark.parametrize("room", [80, 160])
def test_the_runs_of_a_sweep_are_told_apart(room: int) -> None:
    for name in ("kl0.05-s1500-seed0", "default-s800-kl0.2-s60"):
        job = Progress("a", "run", name, "finished", "being checked", 20, 20, None, None)
        assert name in job_text(job, room)
        assert job_text(job, room).index("100%") + 4 <= head_text(room).index("step/s")
    assert width(head_text(room)) <= room


def job(name: str, state: str, step: int = 0, left: float | None = None, **more: Any) -> Progress:
    speed = None if left is None else 2.0
    return Progress(name, "run", name, state, None, step, 40, speed, left, **more)


TOPS = {
    "2 run 75%  5s left": (job("a", "running", 30, 5.0), job("b", "running", 30, 2.0)),
    "1 run 75%  2 wait  45s left": (
        job("a", "running", 30, 5.0),
        job("b", "queued", place=1),
        job("c", "queued", place=2),
    ),
    "2 run 100%": (job("a", "finished", 40, 0.0), job("b", "running", 40, 0.0)),
}


@pytest.mark.parametrize("top", TOPS)
async def test_the_top_line_s_time_is_that_of_the_rows(console: Console, top: str) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, TOPS[top])
        await until(pilot, lambda: screen_text(app).splitlines()[0].endswith(f" {top}  "))


async def test_at_80_columns_the_top_line_says_that_it_is_paused(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await jobs_shown(app, pilot, TOPS["1 run 75%  2 wait  45s left"])
        app.state.watch.alerts.holding = {name: {} for name in "abc"}
        app.on_jobs_changed(JobsChanged(app.state.watch.jobs, True))
        await until(pilot, lambda: "! 3  paused  1 run 75%  " in screen_text(app).splitlines()[0])
