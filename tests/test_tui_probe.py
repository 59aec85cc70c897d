"""The probe box: what is typed is scored or said to be wrong, and no child is left behind."""

import os
import threading
from pathlib import Path

import pytest
import toy_scores
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console
from toy_scores import PROMPT, RESPONSE, gone, own_reward_model

from sessions.errors import SessionError
from sessions.probe import Probe, wrong_in
from sessions.task import Task
from tui.samples_view import probe_lines
from tui.screens.probe import ProbeScreen

RUN = "kl002-s1500"
CHILD = """
import json, sys, time
if MODE == "slow":
    time.sleep(600)
if MODE == "fails":
    sys.exit("error: weights of another shape")
print(json.dumps({"ready": True}), flush=True)
swap = {"token": "he", "score": 0.5}
one = {"token": "pa", "contribution": 0.25, "best": swap, "worst": swap}
for line in sys.stdin:
    print(json.dumps({"score": 2.5, "positions": [one] * 8}), flush=True)
"""


@pytest.fixture
def children(console: Console, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes of a made-up reward model's probes, as they are started."""
    started: list[int] = []
    toy_scores.install(console.place / "fake")
    path = console.place / "fake" / "rlhf" / "analysis" / "probe.py"
    path.write_text("MODE = ''\n" + CHILD)
    monkeypatch.setenv("PYTHONPATH", f"{console.place / 'fake'}:{toy_scores.ROOT}")
    monkeypatch.setattr(
        "sessions.probe.python_environment",
        lambda: {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"]},
    )
    plain = Probe.__init__

    def noted(self: Probe, task: Task, run: Path | None = None) -> None:
        plain(self, task, run)
        started.append(self._child.pid)

    monkeypatch.setattr(Probe, "__init__", noted)
    return started


def mode(console: Console, name: str) -> None:
    path = console.place / "fake" / "rlhf" / "analysis" / "probe.py"
    path.write_text(f"MODE = {name!r}\n" + CHILD)


async def test_the_probe_scores_what_is_typed(console: Console, children: list[int]) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE))
        await until(pilot, lambda: "score 2.5" in screen_text(app))
        await type_keys(app, "end", "backspace")
        await until(pilot, lambda: "'h' is no token" in screen_text(app))
        await type_keys(app, "tab", *"\u202e[/b]", "escape")
        await until(pilot, lambda: gone(children[0]))
    assert len(children) == 1


async def test_the_box_says_whose_reward_model_it_has(
    console: Console, children: list[int]
) -> None:
    run = console.task / "runs" / RUN
    own_reward_model(console, run)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE, run))
        await until(pilot, lambda: "score 2.5" in screen_text(app))
        await until(pilot, lambda: "the run's own reward model" in screen_text(app))


async def test_closing_the_box_while_it_loads_leaves_no_child(
    console: Console, children: list[int]
) -> None:
    mode(console, "slow")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE))
        await until(pilot, lambda: bool(children))
        await type_keys(app, "escape")
        await until(pilot, lambda: gone(children[0]))


async def test_a_child_that_starts_after_the_box_was_closed_is_ended(
    console: Console, children: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mode(console, "slow")
    begun, go, noted = threading.Event(), threading.Event(), Probe.__init__

    def late(self: Probe, task: Task, run: Path | None = None) -> None:
        begun.set()
        go.wait(120)
        noted(self, task, run)

    monkeypatch.setattr(Probe, "__init__", late)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        box = ProbeScreen(app.pane.shell, PROMPT, RESPONSE)
        await app.push_screen(box)
        await until(pilot, begun.is_set)
        await type_keys(app, "escape")
        await until(pilot, lambda: not box.is_attached)
        go.set()
        await until(pilot, lambda: children and gone(children[0]))


async def test_the_box_takes_its_child_along_when_the_dashboard_ends(
    console: Console, children: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, real = threading.Event(), Probe.close
    monkeypatch.setattr(Probe, "close", lambda self: (real(self), closed.set()))
    mode(console, "slow")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE))
        await until(pilot, lambda: children and app.screen._probe)  # type: ignore[attr-defined]
        monkeypatch.setattr(app, "work", lambda group, work: None)  # it begins no other worker
    assert closed.wait(60) and gone(children[0])


async def test_a_reward_model_that_cannot_be_loaded_is_told(
    console: Console, children: list[int]
) -> None:
    mode(console, "fails")
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE))
        await until(pilot, lambda: "weights of another shape" in screen_text(app))


async def test_a_task_that_is_no_longer_whole_is_told(
    console: Console, children: list[int]
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        (console.task / "reward_model" / "rm.safetensors").unlink()
        await app.push_screen(ProbeScreen(app.pane.shell, PROMPT, RESPONSE))
        await until(pilot, lambda: "rm.safetensors" in screen_text(app))
    assert not children


def test_close_ends_an_ask_that_waits(console: Console, children: list[int]) -> None:
    mode(console, "slow")
    probe, failures = Probe(Task(console.task)), []

    def ask() -> None:
        try:
            probe.ask(PROMPT, RESPONSE)
        except SessionError as error:
            failures.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    probe.close()
    thread.join(60)
    assert not thread.is_alive() and failures and gone(children[0])


def test_why_a_child_ended_is_told_again(console: Console, children: list[int]) -> None:
    mode(console, "fails")
    probe = Probe(Task(console.task))
    for _ in range(2):
        with pytest.raises(SessionError, match="weights of another shape"):
            probe.ask(PROMPT, RESPONSE)
    probe.close()


@pytest.mark.parametrize(
    ("prompt", "response", "said"),
    [
        ("", RESPONSE, "no family"),
        ("dnue v0 v1 v2 v3", RESPONSE, "dune"),
        ("dune v0 v1 v2", RESPONSE, "has 3 values"),
        ("dune v0 v1 v2 v8", RESPONSE, "v8"),
        (PROMPT, "pa", "1 of 8 tokens"),
        (PROMPT, RESPONSE + " zz", "'zz' is no token"),
        (PROMPT, RESPONSE, ""),
        ("<dune> v0 v1 v2 v3 <sep>", RESPONSE, ""),
    ],
)
def test_what_is_wrong_with_what_is_typed(prompt: str, response: str, said: str) -> None:
    assert (said in wrong_in(prompt, response)) and bool(wrong_in(prompt, response)) == bool(said)


def test_a_probe_names_every_position() -> None:
    swap = {"token": "he", "score": -1.0}
    one = {"token": "pa", "contribution": 0.25, "best": swap, "worst": swap}
    lines = probe_lines({"score": 2.5, "positions": [one] * 8})
    assert "2.5" in lines[0] and [line.split()[0] for line in lines[2:]] == list("12345678")
    assert "+0.250" in lines[2]


def test_figures_that_are_not_finite_are_said() -> None:
    swap = {"token": "ba", "score": None}
    one = {"token": "pa", "contribution": None, "best": swap, "worst": swap}
    lines = probe_lines({"score": None, "positions": [one] * 8})
    assert len(lines) == 10 and all("not finite" in line for line in [lines[0], *lines[2:]])
