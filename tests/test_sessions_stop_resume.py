"""Stopping ends all of a run; resuming and replaying come out the same."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from toy_lab import TRAINER, Lab, eventually, write_weights

from sessions import queue, trash
from sessions.added import add, folders, forget
from sessions.disk import removable, remove, usage
from sessions.errors import InputError, UsageError
from sessions.evidence import state_of
from sessions.identity import members, parse, wait_gone
from sessions.launch import launch_job
from sessions.progress import expected_seconds, jobs, steps_per_second, sweep_seconds
from sessions.replay import replay
from sessions.resume import resume
from sessions.runfiles import read_object
from sessions.stop import stop
from sessions.supervise import ensure_supervisor
from sessions.supervisor import Supervisor
from sessions.wait import wait


def begun(lab: Lab, **axes: object) -> str:
    (run,) = lab.launch("r", **{"steps": 300, "save_every": 10, **axes})
    lab.until(run, "running")
    return run


def test_stop_lets_the_run_save_and_resume_goes_on_to_the_same_end(lab: Lab) -> None:
    run = begun(lab, seed=9, steps=80)
    ended = stop(lab.workspace, lab.folder(run))
    assert ended.how == "ended"
    state = lab.state(run)
    assert state.state == "stopped" and "@" in str(state.reason)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(9, 80)
    assert (lab.folder(run) / "done.1.json").exists()
    output = (lab.folder(run) / "output.log").read_text()
    assert output.count("--- attempt") == 2


def test_stop_of_a_waiting_run_takes_it_out_of_the_line(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("r")
    assert stop(lab.workspace, lab.folder(run)).how == "cancelled"
    assert lab.state(run).state == "stopped" and not queue.entries(lab.workspace)
    queue.pause(lab.workspace, False)
    assert not ensure_supervisor(lab.workspace)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert len(lab.starts(run)) == 1


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"])
print("deaf", flush=True)
time.sleep(60)
"""


def test_stop_kills_what_does_not_listen_and_all_its_children(lab: Lab) -> None:
    job = launch_job(lab.workspace, "grade", "deaf", [sys.executable, "-c", STUBBORN], lab.task)
    folder = lab.workspace.jobs / job
    output = folder / "output.log"
    eventually(lambda: output.exists() and "deaf" in output.read_text())
    record = read_object(folder / "run.json", []) or {}
    process = parse(record["process"])
    assert process is not None
    time.sleep(0.2)
    assert len(members(process, str(folder))) == 3
    assert stop(lab.workspace, folder, grace_s=0.3).how == "killed"
    assert members(process, str(folder)) == []
    state = state_of(folder)
    assert state.state == "stopped" and "killed by" in str(state.reason)


def test_stop_of_what_does_not_run_is_refused(lab: Lab) -> None:
    (run,) = lab.launch("r")
    lab.until(run, "finished")
    with pytest.raises(UsageError, match="does not run"):
        stop(lab.workspace, lab.folder(run))
    with pytest.raises(UsageError, match="not started from here"):
        stop(lab.workspace, lab.task / "policy")


def test_only_what_ended_early_can_go_on(lab: Lab) -> None:
    run = begun(lab)
    with pytest.raises(UsageError, match="is running"):
        resume(lab.workspace, lab.folder(run))
    stop(lab.workspace, lab.folder(run))
    (done,) = lab.launch("done")
    lab.until(done, "finished")
    with pytest.raises(UsageError, match="is finished"):
        resume(lab.workspace, lab.folder(done))


def test_resume_names_an_input_that_has_changed(lab: Lab) -> None:
    run = begun(lab)
    stop(lab.workspace, lab.folder(run))
    (lab.task / "reward_model" / "config.json").write_text('{"other": 1}')
    with pytest.raises(InputError, match="reward_model"):
        resume(lab.workspace, lab.folder(run))
    assert lab.state(run).state == "stopped"


def test_a_run_that_lost_its_place_can_be_put_back(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("r")
    queue.remove(lab.workspace, run)
    assert "resume" in str(lab.state(run).reason)
    queue.pause(lab.workspace, False)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert len(lab.starts(run)) == 1


def verdict(lab: Lab, run: str) -> dict[str, object]:
    return eventually(lambda: read_object(lab.folder(run) / "replay.json", []))


def test_replay_of_a_sound_run_is_the_same(lab: Lab) -> None:
    (run,) = lab.launch("r", seed=3, steps=20)
    lab.until(run, "finished")
    again = replay(lab.workspace, lab.task, lab.folder(run), TRAINER)
    found = verdict(lab, again)
    assert found["same"] is True and found["of"] == run and found["same_machine"] is True
    assert found["differs"] == [] and found["code_changed"] is False


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


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.name.startswith("."))


def test_trash_and_back(lab: Lab) -> None:
    run = begun(lab)
    with pytest.raises(UsageError, match="is running"):
        trash.discard(lab.workspace, lab.folder(run))
    stop(lab.workspace, lab.folder(run))
    before = contents(lab.folder(run))
    trash.discard(lab.workspace, lab.folder(run))
    assert run not in lab.listed() and list(trash.thrown_away(lab.workspace)) == [run]
    queue.pause(lab.workspace, True)
    assert lab.launch("r") == [f"{run}-2"], "an id in the trash was given again"
    trash.restore(lab.workspace, run)
    assert contents(lab.folder(run)) == before
    assert lab.state(run).state == "stopped"
    with pytest.raises(UsageError, match="not in the trash"):
        trash.restore(lab.workspace, run)
    with pytest.raises(UsageError, match="not in this workspace"):
        trash.discard(lab.workspace, lab.task / "policy")


def test_prune_gives_back_what_nobody_needs(lab: Lab) -> None:
    done, stopped = lab.launch("p", seed=[0, 1], save_every=1)[0], begun(lab)
    stop(lab.workspace, lab.folder(stopped))
    lab.until(done, "finished")
    trash_me = begun(lab)
    stop(lab.workspace, lab.folder(trash_me))
    trash.discard(lab.workspace, lab.folder(trash_me))
    kinds = [(item.kind, item.path.parent.name) for item in removable(lab.workspace, True)]
    assert ("trash", "runs") in kinds and ("checkpoints", done) in kinds
    assert ("checkpoints", stopped) not in kinds, "a stopped run needs its checkpoints to go on"
    assert usage(lab.workspace)["trash"] > 0
    assert remove(removable(lab.workspace, True)) > 0
    assert usage(lab.workspace)["trash"] == 0 and not (lab.folder(done) / "checkpoints").exists()
    assert lab.state(done).state == "finished"


def test_jobs_tell_progress_and_place(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    monkeypatch.setenv("TOY_STEP_S", "0.02")
    first, second, third = lab.launch("j", seed=[0, 1, 2], steps=400)
    eventually(lambda: (lab.folder(first) / "log.jsonl").exists())
    eventually(lambda: (jobs(lab.workspace)[0].step or 0) > 20)
    line = {job.id: job for job in jobs(lab.workspace)}
    running = [job for job in line.values() if job.state == "running"]
    waiting = [job for job in line.values() if job.state == "queued"]
    assert [job.place for job in waiting] == list(range(1, len(waiting) + 1))
    job = running[0]
    assert job.steps == 400 and job.step is not None
    assert job.steps_per_s is not None and 20 < job.steps_per_s < 60
    assert job.left_s == pytest.approx((400 - job.step) / job.steps_per_s)
    for run in (third, second, first):
        stop(lab.workspace, lab.folder(run))


def test_speeds_are_measured_from_the_log() -> None:
    rows = [{"step": 20, "elapsed_s": 2.0}, {"step": 60, "elapsed_s": 4.0}]
    assert steps_per_second(rows) == 20.0
    assert steps_per_second(rows[:1]) == 10.0
    assert steps_per_second([{"step": 20}]) is None and steps_per_second([]) is None
    config = {"steps": 100, "batch_prompts": 16, "samples_per_prompt": 8}
    assert expected_seconds(config, 0.001) == pytest.approx(12.8)
    assert sweep_seconds([3.0, 2.0, 2.0], 2) == 4.0


def test_waiting_for_runs_ends_with_them(lab: Lab) -> None:
    run = begun(lab, steps=40)
    seen: list[str] = []
    states = wait(lab.workspace, [lab.folder(run)], each=lambda now: seen.append(now[run].state))
    assert states[run].state == "finished" and "running" in seen


def test_runs_trained_elsewhere_are_shown_and_forgotten(lab: Lab, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "one"
    elsewhere.mkdir(parents=True)
    with pytest.raises(UsageError, match="holds no run"):
        add(lab.workspace, tmp_path / "elsewhere")
    (elsewhere / "log.jsonl").write_text("")
    assert add(lab.workspace, tmp_path / "elsewhere") == [str(tmp_path / "elsewhere")]
    add(lab.workspace, tmp_path / "elsewhere")
    assert folders(lab.workspace) == [str(tmp_path / "elsewhere")]
    assert forget(lab.workspace, tmp_path / "elsewhere") == []


def test_a_hung_up_terminal_does_not_reach_the_run(lab: Lab) -> None:
    run = begun(lab, steps=60)
    process = lab.process(run)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    lab.until(run, "finished")


def test_a_run_that_lost_its_place_is_not_waited_for(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("r")
    queue.remove(lab.workspace, run)
    assert wait(lab.workspace, [lab.folder(run)])[run].state == "queued"


def test_a_supervisor_that_saw_the_end_does_not_drop_a_run_resumed_meanwhile(lab: Lab) -> None:
    run = begun(lab)
    stop(lab.workspace, lab.folder(run))
    eventually(lambda: not queue.entries(lab.workspace))
    queue.pause(lab.workspace, True)
    resume(lab.workspace, lab.folder(run))
    (entry,) = queue.entries(lab.workspace)
    assert Supervisor(lab.workspace)._drop(entry) is True
    assert queue.entries(lab.workspace) == [entry]


def test_a_run_can_start_from_another_run_s_policy(lab: Lab) -> None:
    (first,) = lab.launch("first")
    lab.until(first, "finished")
    write_weights(lab.folder(first) / "policy.safetensors", 7)
    (plan,) = lab.plans("second", policy_init=str(lab.folder(first)))
    assert plan.inputs["policy_init"]["path"] == str(lab.folder(first))
    (other,) = lab.plans("third", policy_init=str(lab.task / "policy"))
    assert plan.inputs["policy_init"]["sha256"] != other.inputs["policy_init"]["sha256"]


def test_resume_ends_what_a_killed_run_left_behind(lab: Lab) -> None:
    orphan = "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True)"
    orphan += "; time.sleep(60)"
    job = launch_job(lab.workspace, "grade", "o", [sys.executable, "-c", orphan], lab.task)
    folder = lab.workspace.jobs / job
    output = folder / "output.log"
    eventually(lambda: output.exists() and output.read_text().count("\n") == 2)
    process = parse((read_object(folder / "run.json", []) or {})["process"])
    assert process is not None
    for pid in members(process, str(folder))[:2]:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: state_of(folder).state == "lost")
    assert members(process, str(folder)) != []
    queue.pause(lab.workspace, True)
    resume(lab.workspace, folder)
    assert wait_gone(process, str(folder), 5.0)
