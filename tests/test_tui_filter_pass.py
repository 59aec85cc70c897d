"""A slow pattern in a filter or in a rule costs a moment, is named, and changes nothing."""

import itertools
import operator
import signal
import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from operating import place_of
from piloting import app_over, ready, until
from synthetic import Console, write_run
from textual.widgets import Input
from toy_lab import Lab

import tui.listing
import tui.state
from sessions.catalogue import Listing
from tui.alerts import Alerts
from tui.exits import CommandError, Exit
from tui.fields import Run
from tui.filter import FilterError, Test, compile_filter
from tui.filter_pass import AGAIN_S, PASS_S, passing
from tui.listing import Query, collect
from tui.state import State

SLOW = {
    "stars in a row": r".*.*.*.*$(?<=b)",
    "stars between letters": r"a.*a.*a.*a.*b",
    "plusses in a row": r"a+a+a+a+a+$(?<=b)",
    "a backreference": r"(a+).*\1.*\1b",
    "bounded repeats": r"a{1,400}a{1,400}a{1,400}b",
    "lookaheads": r"(?=.*.*.*b)(?=.*.*.*b)x",
    "lazy stars": r".*?.*?.*?.*?b",
}
NESTED = [r"(a|aa)+$", r"(a+)+$", r"(.|a)*b", r"((a|ab)c?)+$", r"(?:a*)*b"]
CPU_S = 15.0  # a pattern that is not ended takes minutes


def run_called(name: str, key: str = "r") -> dict[str, Any]:
    return {"id": key, "name": name, "verdict": None, "reason": "x", "state": "finished"}


def listing_of(*names: str) -> Listing:
    runs = [run_called(name, f"r{n}") for n, name in enumerate(names)]
    return Listing(runs)


@pytest.mark.parametrize("length", [200, 10_000])
@pytest.mark.parametrize("case", SLOW)
def test_a_slow_pattern_on_a_long_name_is_given_up_and_changes_nothing(
    case: str, length: int
) -> None:
    state = State()
    state.take(listing_of("b", *["a" * length] * 200))
    state.set_filter("name=b")
    began = time.process_time()
    with pytest.raises(FilterError, match="too long"):
        state.set_filter(f'name~"{SLOW[case]}"')
    assert time.process_time() - began < CPU_S
    assert state.filter == "name=b" and [row.key for row in state.rows()] == ["r0"]
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.parametrize("pattern", NESTED)
def test_what_nests_is_refused_before_it_is_tried(pattern: str) -> None:
    with pytest.raises(FilterError, match="may never end"):
        compile_filter(f'name~"{pattern}"')


def test_a_filter_that_new_runs_make_slow_is_off_and_that_is_noted() -> None:
    state = State()
    state.take(listing_of("short"))
    state.set_filter(f'!name~"{SLOW["stars in a row"]}"')
    state.take(listing_of("short", *["a" * 10_000] * 200))
    assert state.filter == "" and len(state.rows()) == 201
    assert "is off" in state.watch.tell()


def test_a_rule_that_takes_too_long_is_removed_and_that_is_noted() -> None:
    alerts = Alerts()
    for rule in (f'name~"{SLOW["lazy stars"]}"', "name~^a"):
        alerts.add(rule)
    runs = {f"r{n}": run_called("a" * 10_000, f"r{n}") for n in range(200)}
    notes = alerts.check(runs)
    assert alerts.rules == ["name~^a"] and len(alerts.holding) == 200
    assert "removed" in notes[-1] and len(notes) == 201


def test_a_fast_pattern_holds_for_what_it_holds_for() -> None:
    runs = [run_called(f"kl{n:04d}-" + "a" * 500, str(n)) for n in range(2000)]
    assert len(passing(compile_filter(r'name~"^kl.*7-a+$"'), runs)) == 200


def test_what_other_threads_take_is_not_counted() -> None:
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        began = time.process_time()
        slow = (time.sleep(0.01) or run_called("a", str(n)) for n in itertools.count())
        runs = itertools.takewhile(lambda run: time.process_time() - began < 1.5, slow)
        assert passing(compile_filter("name=a"), runs, 0.5)
    finally:
        over.set()
        for thread in threads:
            thread.join()


async def test_a_slow_pattern_typed_on_costs_a_key_little_until_a_filter_is_quick(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[float] = []
    asked: list[float] = []

    def noted(test: Test, runs: Iterable[Run], seconds: float) -> list[Run]:
        allowed.append(seconds)
        return passing(test, runs, seconds)

    monkeypatch.setattr(tui.state, "passing", noted)
    for number in range(60):
        write_run(console.workspace / "runs" / f"{'a' * 200}{number}", rows=1)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.background.end()
        allowed.clear()
        app.pane.action_filter()
        line = app.pane.query_one("#filter", Input)
        for typed, seconds in (
            ("name=b", PASS_S),
            ("name~a.*a.*a.*a.*b", PASS_S),
            ("name~a.*a.*a.*a.*b.", AGAIN_S),
            ("name~a.*a.*a.*a.*b.* (", None),
            ("name~a.*a.*a.*a.*bc", AGAIN_S),
            ("b", AGAIN_S),
            ("bb", PASS_S),
        ):
            line.value = typed
            asked += [seconds] if seconds else []
            await until(pilot, partial(operator.eq, allowed, asked))


def test_the_command_names_a_slow_pattern(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tui.listing, "PATIENCE_S", 0.1)
    for number in range(60):
        write_run(lab.workspace.runs / f"{'a' * 200}{number}", rows=1)
    query = Query(filter=f'name~"{SLOW["stars between letters"]}"')
    with pytest.raises(CommandError, match="takes too long") as found:
        collect(place_of(lab), query)
    assert found.value.code == Exit.USAGE
