"""Actions of the dashboard: the command in a child that outlives it, its answer told once."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from piloting import until
from synthetic import Console
from textual.css.query import NoMatches

from tui.acting_app import GONE
from tui.app import ConsoleApp
from tui.background import Background
from tui.performing import Outcome, command_line, perform
from tui.place import Place


def place_of(console: Console, read_only: bool = False) -> Place:
    return Place(console.workspace, console.task, (), read_only)


def test_a_command_does_what_it_says_and_gives_its_document(console: Console) -> None:
    outcome = perform(place_of(console), ["note", "default-s800", "too good"])
    assert not outcome.failed and outcome.code == 0
    assert outcome.document["notes"][-1]["text"] == "too good"
    kept = console.workspace / "meta" / "default-s800.jsonl"
    assert json.loads(kept.read_text())["text"] == "too good"


def test_a_refusal_names_the_thing_and_the_mend(console: Console) -> None:
    outcome = perform(place_of(console), ["note", "no-such-run", "x"])
    assert outcome.failed and outcome.code == 2
    assert "no-such-run" in outcome.line()


def test_read_only_is_passed_on(console: Console) -> None:
    outcome = perform(place_of(console, read_only=True), ["note", "default-s800", "x"])
    assert outcome.failed and not (console.workspace / "meta").exists()


def test_an_answer_that_is_no_document_is_a_failure(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/echo")
    outcome = perform(place_of(console), ["note", "default-s800", "x"])
    assert outcome.failed and outcome.line() == "note ended with code 0"
    monkeypatch.setattr("sys.executable", "/no/such/python")
    assert "could not start" in perform(place_of(console), ["note"]).line()


def test_a_path_that_looks_like_an_option_stays_a_path(console: Console, tmp_path: Path) -> None:
    words = command_line(Place(tmp_path / "--yes", console.task, (), False), ["runs"])
    assert str(tmp_path / "--yes") in words and "--yes" not in words


def test_what_follows_two_dashes_is_text(console: Console) -> None:
    outcome = perform(place_of(console), ["note", "default-s800", "--", "--yes --json"])
    assert outcome.document["notes"][-1]["text"] == "--yes --json"


def test_a_task_that_is_broken_ends_the_measuring_and_is_told(console: Console) -> None:
    told: list[Any] = []
    background = Background(place_of(console), told.append, lambda group, work: work())
    (console.task / "policy" / "policy.safetensors").unlink()
    background.measure([("kl05-s800", console.task / "runs" / "kl05-s800")])
    assert [one.text for one in told[:-1]] == [""] and "policy.safetensors" in told[-1].text


async def test_the_dashboard_tells_a_failure_and_hands_on_an_outcome(console: Console) -> None:
    app = ConsoleApp(place_of(console), "dark")
    told: list[Outcome] = []
    async with app.run_test(size=(80, 24)) as pilot:
        app.perform(["tag", "default-s800", "odd"], told.append)
        await until(pilot, lambda: bool(told))
        assert told[0].document["tags"] == ["odd"]
        app.perform(["stop", "default-s800", "--yes"])
        await until(pilot, lambda: len(app.screen_stack) == 2)
        app.pop_screen()
        await until(pilot, lambda: app.state.runs["default-s800"]["tags"] == ["odd"])


async def test_opening_a_run_shows_its_log_whatever_log_was_chosen_before(console: Console) -> None:
    app = ConsoleApp(place_of(console), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "kl05-s800" in app.state.runs)
        app.state.logged = "default-s800"
        await app.open_run("kl05-s800", "logs")
        assert app.pane._wanted() == "kl05-s800"  # type: ignore[attr-defined]


async def test_workers_that_do_not_come_back_keep_no_other_from_its_work(console: Console) -> None:
    app = ConsoleApp(place_of(console), "dark")
    blocked, done = threading.Event(), threading.Event()
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            for _ in range(30):
                app.work("blocked", lambda: blocked.wait())
            app.work("done", done.set)
            await until(pilot, done.is_set)
        finally:
            blocked.set()


@pytest.mark.parametrize("late", ["renew", "say", "pane", "open_run", "listed"])
async def test_what_is_found_while_the_screen_is_taken_down_is_no_failure(
    console: Console, late: str
) -> None:
    app = ConsoleApp(place_of(console), "dark")
    calls = {
        "renew": app.renew,
        "say": lambda: app.say("found"),
        "pane": lambda: app.pane.update(),
        "open_run": lambda: app.open_run("kl05-s800", "tails"),
        "listed": lambda: app.await_run("kl05-s800", None),
    }
    met: list[Exception] = []

    async def in_a_pane_that_outlives_the_others() -> None:
        while app.screen_stack and app.screen_stack[0].query("#tabs"):
            await asyncio.sleep(0.01)
        try:
            result = calls[late]()
            if result is not None:
                await result
        except Exception as error:
            met.append(error)
            raise

    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "kl05-s800" in app.state.runs)
        app.pane.call_later(in_a_pane_that_outlives_the_others)
    assert app.return_code in (None, 0)
    assert all(isinstance(error, GONE) for error in met)


async def test_a_handler_that_fails_while_the_screen_is_there_is_a_failure(
    console: Console,
) -> None:
    app = ConsoleApp(place_of(console), "dark")
    with pytest.raises(NoMatches):
        async with app.run_test(size=(80, 24)):
            app.pane.call_later(lambda: app.query_one("#nowhere"))
            await asyncio.wait_for(app._exception_event.wait(), 60)
