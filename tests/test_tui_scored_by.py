"""`b` in Tails and Samples: scores by the task's reward model, or by the run's own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_scores
from piloting import app_over, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console
from textual.pilot import Pilot
from toy_scores import gone, own_reward_model, sampled, trained_with_the_task_s

from tui.app import ConsoleApp
from tui.messages import SamplesFound, SamplesSaid, TailsFound
from tui.screens.samples import SamplesScreen
from tui.screens.tails import TailsPane
from tui.tails_work import Cancel
from tui.widgets.lines import Lines

RUN, OTHER = "kl002-s1500", "kl05-s800"
BY_TASK, BY_RUN = "by the task's reward model", "by the run's own reward model"
HELP = "Scores by the run's own model or the task's"


@pytest.fixture
def toy(scored: Console, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """The console, the made-up sampler also for what a dashboard in this process starts."""
    for key in ("XDG_CACHE_HOME", "SCORES_CALLS", "FAMILIES"):
        monkeypatch.setenv(key, scored.environment[key])
    monkeypatch.setenv("PYTHONPATH", f"{scored.place / 'fake'}{os.pathsep}{toy_scores.ROOT}")
    yield scored


async def opened(app: ConsoleApp, pilot: Pilot, *runs: str) -> TailsPane:
    """Pane 3 over these runs, the first of them open, once there is something to see."""
    await ready(app, pilot)
    app.state.open(runs[0])
    app.state.toggle_marks(runs)
    pane = await tails_shown(app, pilot)
    await until(pilot, lambda: "Looking" not in screen_text(app))
    return pane


async def sees(app: ConsoleApp, pilot: Pilot, *texts: str) -> None:
    await until(pilot, lambda: all(text in screen_text(app) for text in texts))


async def test_b_turns_to_the_runs_own_in_both_panes_and_measures_nothing_twice(
    toy: Console,
) -> None:
    own_reward_model(toy, toy.task / "runs" / RUN)
    highest = {}
    for whose in ("task", "run"):
        found = toy.run("tails", RUN, "--json", "--reward-model", whose).stdout
        highest[whose] = json.loads(found)["families"]["dune"][1]["max"]
    app = app_over(toy)
    async with app.run_test(size=(160, 50)) as pilot:
        pane = await opened(app, pilot, RUN)
        await sees(app, pilot, f"raw, {BY_TASK}", "was trained with another reward model")
        await type_keys(app, "b")
        await sees(app, pilot, f"raw, {BY_RUN}", f"scores {BY_RUN}")
        await until(pilot, lambda: "another reward model" not in screen_text(app))
        assert pane.tails and pane.tails.of("dune")[1]["max"] == highest["run"] > highest["task"]
        await type_keys(app, "x")
        await sees(app, pilot, "distinct", f"raw, {BY_RUN} (b)")
        await type_keys(app, "b")
        await sees(app, pilot, f"raw, {BY_TASK} (b)", "was trained with another reward")
        await type_keys(app, "escape")
        await sees(app, pilot, f"raw, {BY_TASK}", "another reward model")
        assert pane.tails.of("dune")[1]["max"] == highest["task"]
    assert len(sampled(toy)) == 4


@pytest.mark.parametrize("read_only", [True, False])
async def test_scores_that_the_runs_own_lacks_are_told_and_e_makes_them(
    toy: Console, read_only: bool
) -> None:
    own = own_reward_model(toy, toy.task / "runs" / RUN)
    toy.run("tails", RUN)
    app = app_over(toy, read_only=read_only)
    async with app.run_test(size=(160, 50)) as pilot:
        await opened(app, pilot, RUN)
        await type_keys(app, "b")
        await sees(app, pilot, f"No scores yet {BY_RUN}")
        if read_only:
            await type_keys(app, "x")
            await sees(app, pilot, "--read-only samples nothing", f" b scores {BY_TASK}")
        else:
            await sees(app, pilot, "Press e")
            await type_keys(app, "e")
            await sees(app, pilot, f"raw, {BY_RUN}")
    toy.run("tails", RUN, "--reward-model", "run")
    calls = (toy.place / "score-calls").read_text().splitlines()
    assert [line.split()[-1] == str(own) for line in calls] == [False, False, True, True]


async def test_of_a_run_that_was_trained_with_the_tasks_b_says_so(toy: Console) -> None:
    trained_with_the_task_s(toy.task / "runs" / RUN)
    toy.run("tails", RUN)
    app = app_over(toy)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await opened(app, pilot, RUN)
        await type_keys(app, "b")
        await sees(app, pilot, f"scores {BY_TASK}, the run's own too", f"● {RUN}")
        assert pane.tails and pane.tails.names == ["reference", RUN]
        app.say("said since")
        pane.on_tails_found(TailsFound(pane.desk.found))
        assert "said since" in app._notice
        await type_keys(app, "x")
        await sees(app, pilot, f" scores {BY_TASK}, the run's own too  esc back", "distinct")
    assert len(sampled(toy)) == 2


async def test_runs_of_different_reward_models_have_no_common_axis(toy: Console) -> None:
    own_reward_model(toy, toy.task / "runs" / RUN)
    trained_with_the_task_s(toy.task / "runs" / OTHER)
    toy.run("tails", RUN, OTHER)
    app = app_over(toy)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot, RUN, OTHER)
        await sees(app, pilot, f"▲ {OTHER}")
        await type_keys(app, "b")
        back = f"no tails: b scores {BY_TASK}"
        await sees(app, pilot, "different reward models: no common axis", back)
        await type_keys(app, "b")
        await sees(app, pilot, f"▲ {OTHER}")


async def test_without_a_run_b_says_that_none_is_open(toy: Console, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("score\n1\n2\n")
    app = app_over(toy)
    async with app.run_test(size=(80, 24)) as pilot:
        await tails_shown(app, pilot, path)
        app.state.open_run = None
        await type_keys(app, "b")
        await sees(app, pilot, "no run is open: choose one in pane 1")
        assert not app.state.by_run


async def test_b_while_samples_are_made_ends_the_making(
    toy: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_reward_model(toy, toy.task / "runs" / RUN)
    toy.run("samples", RUN, "--reward-model", "run")
    monkeypatch.setenv("SCORES_MODE", "hang")
    app = app_over(toy, read_only=False)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        folder = app.state.folders[RUN]
        screen = SamplesScreen(app.pane.shell, app.state, RUN, folder)
        await app.push_screen(screen)
        await until(pilot, lambda: len(sampled(toy)) == 3)
        await type_keys(app, "b")
        await sees(app, pilot, "distinct", f"raw, {BY_RUN} (b)")
        await until(pilot, lambda: gone(sampled(toy)[2]))
        over = Cancel(app.background.stopping)
        over.set()
        screen.on_samples_found(SamplesFound({"families": {}}, over))
        assert screen.families, "what nobody waits for any more is not shown"


async def test_how_far_it_was_hides_not_why_the_runs_own_gives_none(toy: Console) -> None:
    app, failure = app_over(toy), "no reward model of the run"
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        screen = SamplesScreen(app.pane.shell, app.state, RUN, app.state.folders[RUN])
        await app.push_screen(screen)
        before = screen._cancel
        await type_keys(app, "b")
        await sees(app, pilot, failure)
        screen.on_samples_said(SamplesSaid("sampling and scoring: 12 %", before))
        assert failure in screen._said
        await screen.action_write()
        assert "nothing to write" in screen.query_one("#samples-hint", Lines).plain[0]
        assert app.screen is screen


@pytest.mark.parametrize("where", ["tails", "samples"])
async def test_help_and_palette_name_b(toy: Console, where: str) -> None:
    app = app_over(toy)
    async with app.run_test(size=(80, 50)) as pilot:
        await opened(app, pilot, RUN)
        if where == "samples":
            await type_keys(app, "x")
            await until(pilot, lambda: isinstance(app.screen, SamplesScreen))
        await type_keys(app, "question_mark")
        await sees(app, pilot, f"b  {HELP}")
        await type_keys(app, "escape", "colon", *"scored by")
        await sees(app, pilot, HELP)
