"""Samples and the probe box: what is marked, hostile documents, and no child left behind."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import toy_scores
from piloting import SIZES, app_over, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console, open_terminal
from textual.pilot import Pilot
from toy_scores import gone, own_reward_model, sampled

from sessions.errors import SessionError
from sessions.inputs import hash_inputs
from sessions.probe import Probe, wrong_in
from sessions.reward_model import reward_model
from sessions.task import Task
from tui.app import ConsoleApp
from tui.messages import SamplesFound
from tui.samples_view import HEAD, family_lines, over, probe_lines, response_text, tokens_line
from tui.screens.probe import ProbeScreen
from tui.screens.samples import SamplesScreen

EVIL = "\x1b]0;owned\x07\x1b[2J[/bold]\u202e" + "w" * 300
RUN = "kl002-s1500"
SHIPPED_RM = toy_scores.ROOT / "fixture" / "task" / "reward_model"
PROMPT, RESPONSE = "dune v0 v1 v2 v3", "pa pa pa pa pa pa pa he"


def token(name: str = "pa", marked: bool = True, **more: Any) -> dict[str, Any]:
    figures = {"share": 0.5, "reference": 0.05, "ratio": 10.0, "low": 9.0, "high": 11.0}
    return {"token": name, **figures, "over": marked, **more}


def family(**more: Any) -> dict[str, Any]:
    rows = [{"id": "a", "prompt": PROMPT, "kl": 30.5, "score": 4.0, "response": "pa he"}]
    kinds = {"highest": rows, "lowest": rows, "random": rows}
    return {"n": 1, "nonfinite": 0, "prompts": 1, "tokens": [token()], **kinds, **more}


def test_the_heading_stands_over_what_it_names() -> None:
    row = {"score": 4.75, "response": RESPONSE, "kl": 36.4, "count": 2, "prompt": PROMPT}
    text = response_text(row, {"pa"}).plain
    for word, cell in (("score", "4.75"), ("KL, nats", "36.4"), ("xN", "x2")):
        assert HEAD.index(word) + len(word) == text.index(cell) + len(cell)
    assert HEAD.index("response") == text.index("[pa]") and HEAD.index("prompt") == text.index(
        PROMPT
    )


def test_marked_tokens_are_bracketed_and_the_others_are_not() -> None:
    text = response_text({"score": 4.0, "response": "pa he pa", "kl": None}, over(family())).plain
    assert text.count("[pa]") == 2 and " he " in text and "[he]" not in text
    assert "pa x10.0 (9.00-11.0) 50 % of tokens, reference 5.0 %" in tokens_line(family())


def test_what_no_interval_bears_out_is_not_marked() -> None:
    unsure = family(tokens=[token(marked=False, low=0.0, high=None)])
    assert over(unsure) == {} and "no token is over-represented" in tokens_line(unsure)
    assert "no reference samples" in tokens_line(family(tokens=[]))


def test_repeats_are_counted_and_positions_told() -> None:
    position = {"position": 3, "n": 1990, **token(share=0.98)}
    one = family(distinct=7, positions=[position, {**position, "over": False, "position": 4}])
    one["highest"] = [{"score": 4.0, "response": "pa he", "count": 17, "kl": 1.0}]
    text = "\n".join(line.plain for line in family_lines("dune", one, positions=True))
    assert "n 1, 7 distinct" in text and " x17  " in text and "x1 " not in text
    assert "  3  [pa]   98.0 %    5.0 %   1990  x10.0 (9.00-11.0)" in text and "  4   pa " in text
    assert "by position" not in "".join(line.plain for line in family_lines("dune", one))


def test_what_is_not_finite_is_told_and_not_a_number() -> None:
    rows = [{"score": one, "response": "pa"} for one in ("nan", "inf", None, 1e308)]
    text = "\n".join(line.plain for line in family_lines("dune", family(nonfinite=3, random=rows)))
    assert "3 not finite" in text and " nan " in text and " inf " in text


def test_a_probe_names_every_position() -> None:
    swap = {"token": "he", "score": -1.0}
    one = {"token": "pa", "contribution": 0.25, "best": swap, "worst": swap}
    lines = probe_lines({"score": 2.5, "positions": [one] * 8})
    assert "2.5" in lines[0] and [line.split()[0] for line in lines[2:]] == list("12345678")
    assert "+0.250" in lines[2]


# -- the screen ------------------------------------------------------------------------------

DOCUMENTS: dict[str, Any] = {
    "no families": {"families": {}},
    "an empty family": {"families": {"dune": family(n=0, highest=[], lowest=[], random=[])}},
    "one row": {"families": {"dune": family()}},
    "hostile texts": {
        "families": {
            EVIL: family(
                tokens=[token(EVIL)],
                highest=[{"score": EVIL, "prompt": EVIL, "response": EVIL, "kl": EVIL}],
            )
        }
    },
    "1e308 and NaN": {
        "families": {
            "dune": family(
                tokens=[token(ratio=1e308, low=-1e308, high=float("inf"))],
                highest=[{"score": 1e308, "response": "pa"}, {"score": "nan", "kl": 1e308}],
            )
        }
    },
    "positions": {
        "families": {
            "dune": family(positions=[{"position": 1, "n": 3, **token(EVIL, ratio=1e308)}] * 8)
        }
    },
    "a hundred families": {"families": {f"f{n}": family() for n in range(100)}},
    "a failure": "cannot read " + "w" * 300,
}


async def opened(app: ConsoleApp, pilot: Pilot, name: str = RUN) -> SamplesScreen:
    """The samples screen of a run."""
    await ready(app, pilot)
    folder = app.state.folders[RUN]
    screen = SamplesScreen(app.pane.shell, name, folder)
    await app.push_screen(screen)
    return screen


@pytest.mark.parametrize("words", DOCUMENTS)
async def test_the_screen_withstands(scored: Console, words: str) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot, EVIL)
        await until(pilot, lambda: "read-only" in screen_text(app))  # so nothing else will come
        screen.on_samples_found(SamplesFound(DOCUMENTS[words]))
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await type_keys(app, "x", "v", "V", "down", "end", "pageup", "home", "y")
            await type_keys(app, "i", "escape", "w", "escape", "x", "x", "x")
        await pilot.resize_terminal(80, 24)
        assert app.screen is screen


async def test_read_only_samples_nothing(scored: Console) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: "--read-only samples nothing" in screen_text(app))
    assert not sampled(scored)


def test_the_command_samples_nothing_under_read_only(scored: Console) -> None:
    done = scored.run("--read-only", "samples", "kl002-s1500")
    assert done.returncode == 2 and "--read-only measures nothing" in done.stderr
    assert not (scored.place / "score-calls").exists()


def test_pane_3_opens_the_samples_of_the_open_run(scored: Console) -> None:
    with open_terminal(scored, 80, 24) as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "enter")
        terminal.sees("proxy")
        terminal.press("3")
        terminal.sees("Press e")
        terminal.press("x")
        terminal.sees(f"{RUN}   anvil", "[highest]")
        terminal.press("esc")
        terminal.until(lambda: "[highest]" not in terminal.text)
        terminal.press("q")
        assert terminal.wait(30) == 0


async def test_a_panes_key_leaves_for_it_and_p_probes_the_highest_of_all(scored: Console) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot)
        await until(pilot, lambda: "read-only" in screen_text(app))
        positions = [{"position": 1, "n": 3, **token()}]
        document = {"families": {"dune": family(positions=positions)}}
        screen.on_samples_found(SamplesFound(document))
        await type_keys(app, "tab", "tab", "tab", "p")
        await until(pilot, lambda: isinstance(app.screen, ProbeScreen))
        assert f"│ {PROMPT}" in screen_text(app)
        await type_keys(app, "escape", "2")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        assert "No run is open" in screen_text(app) or "by step" in screen_text(app)


@pytest.mark.parametrize("how", ["esc", "killed"])
def test_leaving_while_it_samples_leaves_nothing_behind(scored: Console, how: str) -> None:
    with open_terminal(scored, 80, 24, SCORES_MODE="hang") as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "x")
        terminal.sees("sampling and scoring")
        terminal.until(lambda: bool(sampled(scored)))
        if how == "esc":
            terminal.press("esc")
            terminal.until(lambda: "sampling and scoring" not in terminal.text)
            terminal.until(lambda: gone(sampled(scored)[0]))
        else:
            terminal.press("q")  # leaves the screen; once more, the dashboard
            terminal.press("q")
            assert terminal.wait(30) == 0
            assert gone(sampled(scored)[0])
    assert not list((scored.place / "cache").rglob("*.jsonl"))


@pytest.mark.parametrize("command", ["samples", "tails"])
def test_the_reward_model_that_scores_can_be_the_runs(scored: Console, command: str) -> None:
    own = own_reward_model(scored, scored.task / "runs" / RUN)
    by_task = json.loads(scored.run(command, RUN, "--json").stdout)
    assert (by_task["reward_model_of"], by_task["reward_model"]) == (
        "task",
        str(scored.task / "reward_model"),
    )
    assert by_task["notes"] == [f"{RUN} was trained with another reward model: {own}"]
    by_run = json.loads(scored.run(command, RUN, "--json", "--reward-model", "run").stdout)
    assert (by_run["reward_model_of"], by_run["reward_model"]) == ("run", str(own))
    assert by_run["notes"] == []
    calls = (scored.place / "score-calls").read_text().splitlines()
    assert [line.split()[-1] == str(own) for line in calls] == [False, False, True, True]
    named = scored.run(command, RUN, "--json", "--reward-model", str(own))
    assert json.loads(named.stdout)["families"] == by_run["families"]
    assert len(sampled(scored)) == 4, "the same reward model by another name is sampled once"


@pytest.mark.parametrize(
    ("runs", "whose", "code", "said"),
    [
        ((RUN, "kl05-s800"), "run", 2, "no common axis"),
        (("reference",), "run", 3, "recipe names none"),
        ((RUN,), "/nowhere", 3, "/nowhere/rm.safetensors"),
    ],
)
def test_a_reward_model_that_cannot_score_is_refused_before_it_samples(
    scored: Console, runs: tuple[str, ...], whose: str, code: int, said: str
) -> None:
    own_reward_model(scored, scored.task / "runs" / RUN)
    recipe = scored.task / "runs" / "kl05-s800" / "run_config.json"
    recipe.write_text(json.dumps({"reward_model": "/task/reward_model"}))
    done = scored.run("tails", *runs, "--reward-model", whose)
    assert done.returncode == code and said in done.stderr and not sampled(scored)


async def test_the_screens_say_that_a_run_was_trained_on_other_scores(
    scored: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scored.task / "runs" / RUN
    own_reward_model(scored, run)
    recipe = json.loads((run / "run_config.json").read_text()) | {"reward_wrapper": "/w.py"}
    (run / "run_config.json").write_text(json.dumps(recipe))
    scored.run("tails", RUN)
    monkeypatch.setenv("XDG_CACHE_HOME", scored.environment["XDG_CACHE_HOME"])
    monkeypatch.setenv("PYTHONPATH", str(toy_scores.ROOT))
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.state.open(RUN)
        await tails_shown(app, pilot)
        await until(pilot, lambda: "scores of the task's reward model" in screen_text(app))
        told = (f"{RUN} was trained with another reward", f"{RUN} was trained through a wrapper")
        assert all(one in screen_text(app) for one in told)
        await type_keys(app, "x")
        await until(pilot, lambda: "distinct" in screen_text(app))
        await until(pilot, lambda: all(one in screen_text(app) for one in told))


# -- the probe box ---------------------------------------------------------------------------

CHILD = """
import json, sys, time
if MODE == "slow":
    time.sleep(60)
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
        await type_keys(app, "backspace")
        await until(pilot, lambda: "'h' is no token" in screen_text(app))
        await type_keys(app, "tab", *"\u202e[/b]", "escape")
        await until(pilot, lambda: gone(children[0]))
    assert len(children) == 1


def test_the_probe_has_the_reward_model_that_the_run_was_trained_with(console: Console) -> None:
    task, run = Task(console.task), console.task / "runs" / RUN
    none = reward_model(task)
    assert (none.folder, none.of) == (task.reward_model.absolute(), "task")
    recipe = json.loads((run / "run_config.json").read_text()) | {
        "reward_model": "/task/reward_model"
    }
    (run / "run_config.json").write_text(json.dumps(recipe))
    same = reward_model(task, run)
    assert (same.folder, same.of) == (task.reward_model.absolute(), "run")
    own = own_reward_model(console, run)
    assert reward_model(task, run)[:2] == (own, "run")


@pytest.mark.parametrize("how", ["gone", "changed", "nameless", "pipe"])
def test_a_reward_model_that_is_no_longer_the_runs_is_not_used(console: Console, how: str) -> None:
    task, run = Task(console.task), console.task / "runs" / RUN
    own = own_reward_model(console, run)
    named = {"reward_model": str(own)}
    (run / "run.json").write_text(json.dumps({"config": named, "inputs": hash_inputs(named)}))
    assert reward_model(task, run)[:2] == (own, "run")
    if how in ("gone", "pipe"):
        (own / "rm.safetensors").unlink()
    if how == "pipe":
        os.mkfifo(own / "rm.safetensors")
    if how == "changed":
        (own / "rm.safetensors").write_bytes(b"trained anew")
    if how == "nameless":
        (run / "run.json").write_text(json.dumps({"config": {"reward_model": 3}}))
    found = reward_model(task, run)
    assert (found.folder, found.of) == (task.reward_model.absolute(), "task")
    said = {"changed": "has changed", "nameless": "names none"}
    assert said.get(how, "is not there") in found.said


def test_the_command_says_whose_reward_model_it_has(console: Console) -> None:
    own = own_reward_model(console, console.task / "runs" / RUN)
    for folder in (own, console.task / "reward_model"):
        shutil.copytree(SHIPPED_RM, folder, dirs_exist_ok=True)
    of_run = json.loads(console.run("probe", PROMPT, RESPONSE, "--run", RUN, "--json").stdout)
    assert (of_run["reward_model"], of_run["reward_model_of"]) == (str(own), "run")
    plain = json.loads(console.run("probe", PROMPT, RESPONSE, "--json").stdout)
    assert plain["reward_model"] == str(console.task / "reward_model")
    assert plain["reward_model_of"] == "task" and plain["score"] == of_run["score"]


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
        assert "the run's own reward model" in screen_text(app)


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
    go, noted = threading.Event(), Probe.__init__

    def late(self: Probe, task: Task, run: Path | None = None) -> None:
        go.wait(10)
        noted(self, task, run)

    monkeypatch.setattr(Probe, "__init__", late)
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        box = ProbeScreen(app.pane.shell, PROMPT, RESPONSE)
        await app.push_screen(box)
        await pilot.pause(0.05)
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
    assert closed.wait(30) and gone(children[0])


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
    thread.join(10)
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


def test_figures_that_are_not_finite_are_said() -> None:
    swap = {"token": "ba", "score": None}
    one = {"token": "pa", "contribution": None, "best": swap, "worst": swap}
    lines = probe_lines({"score": None, "positions": [one] * 8})
    assert len(lines) == 10 and all("not finite" in line for line in [lines[0], *lines[2:]])
