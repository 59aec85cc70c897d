"""Stopping ends all of a run; resuming goes on to the same end."""

import os
import signal
import sys

import pytest
from toy_lab import Lab, eventually

from sessions import queue
from sessions.errors import InputError, UsageError
from sessions.evidence import state_of
from sessions.identity import members, parse, wait_gone
from sessions.launch import launch_job
from sessions.resume import resume
from sessions.runfiles import read_object
from sessions.stop import stop
from sessions.supervise import ensure_supervisor, supervisor
from sessions.supervisor import Supervisor


def begun(lab: Lab, **axes: object) -> str:
    lab.hold()
    (run,) = lab.launch("r", **{"steps": 20, "save_every": 10, **axes})
    lab.until(run, "running")
    return run


def test_stop_lets_the_run_save_and_resume_goes_on_to_the_same_end(lab: Lab) -> None:
    run = begun(lab, seed=9)
    ended = stop(lab.workspace, lab.folder(run))
    assert ended.how == "ended"
    state = lab.state(run)
    assert state.state == "stopped" and "@" in str(state.reason)
    lab.hold(False)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(9, 20)
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
    "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
print("deaf", flush=True)
time.sleep(600)
"""


def test_stop_kills_what_does_not_listen_and_all_its_children(lab: Lab) -> None:
    job = launch_job(lab.workspace, "grade", "deaf", [sys.executable, "-c", STUBBORN], lab.task)
    folder = lab.workspace.jobs / job
    output = folder / "output.log"
    eventually(lambda: output.exists() and "deaf" in output.read_text())
    record = read_object(folder / "run.json", []) or {}
    process = parse(record["process"])
    assert process is not None
    eventually(lambda: len(members(process, str(folder))) == 3)
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
    lab.hold(False)
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


def test_a_hung_up_terminal_does_not_reach_the_run(lab: Lab) -> None:
    run = begun(lab)
    process = lab.process(run)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    lab.hold(False)
    lab.until(run, "finished")


def test_what_waited_and_is_stopped_leaves_a_line_that_is_paused(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    lab.hold()
    (run,) = lab.launch("r")
    eventually(lambda: supervisor(lab.workspace) is None)
    boss = Supervisor(lab.workspace)
    boss.tick()
    queue.pause(lab.workspace, False)
    boss.tick()
    lab.until(run, "running")
    queue.pause(lab.workspace, True)
    stop(lab.workspace, lab.folder(run))

    def dropped() -> bool:
        boss.tick()
        return not queue.entries(lab.workspace)

    eventually(dropped)


def test_a_supervisor_that_saw_the_end_does_not_drop_a_run_resumed_meanwhile(lab: Lab) -> None:
    run = begun(lab)
    stop(lab.workspace, lab.folder(run))
    eventually(lambda: not queue.entries(lab.workspace))
    queue.pause(lab.workspace, True)
    resume(lab.workspace, lab.folder(run))
    (entry,) = queue.entries(lab.workspace)
    assert Supervisor(lab.workspace)._drop(entry) is True
    assert queue.entries(lab.workspace) == [entry]


def test_resume_ends_what_a_killed_run_left_behind(lab: Lab) -> None:
    orphan = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    orphan += "; time.sleep(600)"
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
    assert wait_gone(process, str(folder), 60.0)
