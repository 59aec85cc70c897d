"""Replays come out the same, or say what differs; runs start from other runs."""

import pytest
from toy_lab import TRAINER, Lab, eventually, write_weights

from sessions.errors import InputError
from sessions.replay import replay
from sessions.rundir import recipe
from sessions.runfiles import read_object


def verdict(lab: Lab, run: str) -> dict[str, object]:
    return eventually(lambda: read_object(lab.folder(run) / "replay.json", []))


def test_replay_of_a_sound_run_is_the_same(lab: Lab) -> None:
    (run,) = lab.launch("r", seed=3, steps=20)
    lab.until(run, "finished")
    again = replay(lab.workspace, lab.task, lab.folder(run), TRAINER)
    found = verdict(lab, again)
    assert found["same"] is True and found["of"] == run and found["same_machine"] is True
    assert found["differs"] == [] and found["code_changed"] is False
    assert recipe(lab.folder(run), lab.task) and not recipe(lab.folder(again), lab.task)  # no seed


def test_replay_says_what_differs(lab: Lab) -> None:
    (run,) = lab.launch("r", seed=3, steps=20)
    lab.until(run, "finished")
    log = lab.folder(run) / "log.jsonl"
    before, after = '"step": 7, "proxy_reward": 0.', '"step": 7, "proxy_reward": 1.'
    log.write_text(log.read_text().replace(before, after))
    (lab.folder(run) / "policy.safetensors").write_text("other")
    found = verdict(lab, replay(lab.workspace, lab.task, lab.folder(run), TRAINER))
    assert found["same"] is False
    assert found["differs"] == ["policy.safetensors", "log.jsonl: from step 7 (proxy_reward)"]
    assert found["bounds"] == {"proxy_reward": pytest.approx(1.0), "kl": 0.0}


def test_replay_names_changed_inputs_and_starts_nothing(lab: Lab) -> None:
    (run,) = lab.launch("r")
    lab.until(run, "finished")
    prompts = lab.task / "data" / "prompts_train.jsonl"
    prompts.write_text(prompts.read_text() + prompts.read_text())
    with pytest.raises(InputError, match="prompt_file"):
        replay(lab.workspace, lab.task, lab.folder(run), TRAINER)
    assert [path.name for path in lab.workspace.runs.iterdir()] == [run]


def test_a_run_can_start_from_another_run_s_policy(lab: Lab) -> None:
    (first,) = lab.launch("first")
    lab.until(first, "finished")
    write_weights(lab.folder(first) / "policy.safetensors", 7)
    (plan,) = lab.plans("second", policy_init=str(lab.folder(first)))
    assert plan.inputs["policy_init"]["path"] == str(lab.folder(first))
    (other,) = lab.plans("third", policy_init=str(lab.task / "policy"))
    assert plan.inputs["policy_init"]["sha256"] != other.inputs["policy_init"]["sha256"]
