"""Whose reward model scores: the task's or the run's own, by a command and on the screen."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toy_scores
from piloting import app_over, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console
from toy_scores import PROMPT, RESPONSE, own_reward_model, sampled

from sessions.inputs import hash_inputs
from sessions.reward_model import reward_model
from sessions.task import Task

RUN = "kl002-s1500"
TASK = toy_scores.ROOT / "fixture" / "task"
SHIPPED_RM = TASK / "reward_model"


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
        await until(pilot, lambda: "raw, by the task's reward model" in screen_text(app))
        told = (f"{RUN} was trained with another reward", f"{RUN} was trained through a wrapper")
        assert all(one in screen_text(app) for one in told)
        await type_keys(app, "x")
        await until(pilot, lambda: "distinct" in screen_text(app))
        await until(pilot, lambda: all(one in screen_text(app) for one in told))


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


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("tails", "kl05-s800", "--reward-model", "RM"), "rm"),
        (("samples", "kl05-s800", "--reward-model", "RM"), "rm"),
        (("tails", "foreign"), "runs/foreign"),
        (("samples", "foreign"), "runs/foreign"),
        (("probe", PROMPT, RESPONSE, "--run", "foreign"), "rm"),
    ],
)
def test_a_model_of_another_vocabulary_is_no_valid_input(
    tmp_path: Path, words: tuple[str, ...], wrong: str
) -> None:
    rm, run = tmp_path / "rm", tmp_path / "runs" / "foreign"
    shutil.copytree(SHIPPED_RM, rm)
    shutil.copytree(TASK / "runs" / "kl05-s800", run)
    for folder in (rm, run):
        config = json.loads((folder / "config.json").read_text()) | {"vocab_size": 99}
        (folder / "config.json").write_text(json.dumps(config))
    (run / "run_config.json").write_text(json.dumps({"reward_model": str(rm)}))
    place = ("--task", TASK, "--workspace", tmp_path / "workspace", "--runs", run.parent)
    command = [sys.executable, "-m", "tui.cli", *map(str, place), *words]
    env = {**os.environ, "PYTHONPATH": str(toy_scores.ROOT), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [str(rm) if word == "RM" else word for word in command],
        env=env, text=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3 and done.stdout == ""
    said = f"{tmp_path / wrong}/config.json: the model's config: vocab_size is 99, expected 40"
    mend = "(give one that is whole and of this task's vocabulary)"
    assert done.stderr.splitlines()[-1] == f"rlhf-tui: {said} {mend}"
