"""Hostile cases: processes that are killed, confused with others, or started twice."""

import os
import subprocess
import sys
import time

import pytest
from hostile_kit import begun, boss, case, dashboard, kill
from toy_lab import Lab, eventually

from sessions import queue
from sessions.child import NOT_MINE
from sessions.errors import UsageError
from sessions.identity import own
from sessions.launch import launch_job
from sessions.record import update
from sessions.resume import resume
from sessions.stop import stop
from sessions.supervise import ensure_supervisor, python_environment, supervisor


@case("kill -9 of the run")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(lab, seed=4)
    kill(lab.process(run).pid)
    lost = lab.until(run, "lost")
    eventually(lambda: "SIGKILL" in (lab.state(run).reason or ""))
    assert lost.reason is not None
    lab.hold(False)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(4, 60)
    assert [line.split()[2] for line in lab.starts(run)] == ["0", "1"]


@case("kill -9 of the supervisor")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.hold()
    runs = lab.launch("s", seed=[0, 1, 2, 3])
    lab.until(runs[0], "running")
    kill(boss(lab))
    assert lab.state(runs[0]).state == "running"
    lab.hold(False)
    assert eventually(lambda: ensure_supervisor(lab.workspace))
    for run in runs:
        lab.until(run, "finished")
        assert len(lab.starts(run)) == 1


@case("a start that two supervisors try")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("r", steps=30)
    words = ["-m", "sessions", "execute", str(lab.folder(run)), "1"]
    tries = [
        subprocess.Popen([sys.executable, "-P", *words], env=python_environment()) for _ in range(5)
    ]
    assert sorted(child.wait() for child in tries) == [0, *[NOT_MINE] * 4]
    assert len(lab.starts(run)) == 1 and lab.state(run).state == "finished"


GATE = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.02)"


def working(children: list[subprocess.Popen[bytes]]) -> list[subprocess.Popen[bytes]]:
    return [child for child in children if child.poll() is None]


@case("two supervisors that begin at once")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [sys.executable, "-P", "-m", "sessions", "supervise", str(lab.workspace.root)]
    for name in ("a", "b", "c"):
        gate = lab.task / name
        queue.pause(lab.workspace, True)
        launch_job(lab.workspace, "x", "gate", [sys.executable, "-c", GATE, str(gate)], lab.task)
        runs = lab.launch(name, seed=[0, 1, 2, 3])
        queue.pause(lab.workspace, False)
        two = [subprocess.Popen(words, env=python_environment()) for _ in range(2)]
        eventually(lambda two=two: len(working(two)) == 1)
        assert [child.pid for child in working(two)] == [boss(lab)]
        gate.touch()
        assert [child.wait(60) for child in two] == [0, 0]
        assert [len(lab.starts(run)) for run in runs] == [1, 1, 1, 1]
        assert {lab.state(run).state for run in runs} == {"finished"}
    assert queue.entries(lab.workspace) == []


@case("kill -9 of the dashboard")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as screen:
        run = begun(lab)
        screen.kill()
    lab.hold(False)
    lab.until(run, "finished")
    assert len(lab.starts(run)) == 1


@case("kill -9 of all three")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as screen:
        run = begun(lab, seed=2)
        for pid in (screen.pid, boss(lab), lab.process(run).pid):
            kill(pid)
    lab.until(run, "lost")
    lab.hold(False)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(2, 60)


@case("a reused pid")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("old")
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as stranger:
        reused = own().as_dict() | {"pid": stranger.pid, "start": "1", "monotonic": 0.0}
        update(lab.folder(run), lambda record: record.update(process=reused))
        assert lab.state(run).state == "lost"
        with pytest.raises(UsageError, match="does not run"):
            stop(lab.workspace, lab.folder(run))
        assert stranger.poll() is None, "stop signalled a process that is not the run's"
        stranger.kill()


@case("a clock that jumps")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(lab)
    now = time.time
    for jump in (-1e7, 1e7):
        monkeypatch.setattr(time, "time", lambda jump=jump: now() + jump)
        log = lab.folder(run) / "log.jsonl"
        os.utime(log, (now() - jump, now() - jump))
        assert lab.state(run).state == "running"
        monkeypatch.undo()
    stop(lab.workspace, lab.folder(run))


@case("two dashboards on one workspace")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as one, dashboard(lab) as other:
        runs = lab.launch("d", seed=[0, 1, 2, 3], steps=20)
        bosses: set[int] = set()
        while any(lab.state(run).state != "finished" for run in runs):
            found = supervisor(lab.workspace)  # the last one ends with the last run
            bosses |= {found.pid} if found else set()
            time.sleep(0.05)
        one.kill()
        other.kill()
    assert len(bosses) == 1
    assert [len(lab.starts(run)) for run in runs] == [1, 1, 1, 1]
