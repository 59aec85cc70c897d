"""What sessions must withstand, one case each, in the words of the issue."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kill_harness import DASHBOARD
from toy_lab import Lab, eventually

from sessions import meta, queue, rundir
from sessions.catalogue import Catalogue
from sessions.child import NOT_MINE
from sessions.errors import SessionError, UsageError
from sessions.identity import own
from sessions.ids import ID
from sessions.record import load, new_record, update
from sessions.resume import resume
from sessions.stop import stop
from sessions.supervise import ensure_supervisor, python_environment, supervisor
from sessions.task import Task

Case = Callable[[Lab, pytest.MonkeyPatch], None]
CASES: dict[str, Case] = {}


def case(words: str) -> Callable[[Case], Case]:
    def register(function: Case) -> Case:
        CASES[words] = function
        return function

    return register


def begun(lab: Lab, **axes: Any) -> str:
    """A run that is training, slowly, with a checkpoint every step."""
    (run,) = lab.launch("victim", **{"steps": 200, "save_every": 1, **axes})
    lab.until(run, "running")
    return run


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def boss(lab: Lab) -> int:
    found = eventually(lambda: supervisor(lab.workspace))
    return int(found.pid)


def dashboard(lab: Lab) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-c", DASHBOARD, str(lab.task), str(lab.workspace.root)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, env=python_environment())


@case("kill -9 of the run")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(lab, seed=4, steps=60)
    kill(lab.process(run).pid)
    lost = lab.until(run, "lost", seconds=2)
    eventually(lambda: "SIGKILL" in (lab.state(run).reason or ""), 2)
    assert lost.reason is not None
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(4, 60)
    assert [line.split()[2] for line in lab.starts(run)] == ["0", "1"]


@case("kill -9 of the supervisor")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = lab.launch("s", seed=[0, 1, 2, 3], steps=60)
    lab.until(runs[0], "running")
    kill(boss(lab))
    assert lab.state(runs[0]).state == "running"
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


@case("kill -9 of the dashboard")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as screen:
        run = begun(lab, steps=60)
        screen.kill()
    lab.until(run, "finished")
    assert len(lab.starts(run)) == 1


@case("kill -9 of all three")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as screen:
        run = begun(lab, seed=2, steps=60)
        for pid in (screen.pid, boss(lab), lab.process(run).pid):
            kill(pid)
    lab.until(run, "lost", seconds=2)
    resume(lab.workspace, lab.folder(run))
    lab.until(run, "finished")
    assert (lab.folder(run) / "policy.safetensors").read_text() == lab.undisturbed(2, 60)


@case("a reused pid")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("old")
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
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


def _no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@case("a full workspace")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = lab.launch("before")
    lab.until(run, "finished")
    eventually(lambda: not queue.entries(lab.workspace))
    with monkeypatch.context() as patch:
        patch.setattr("rlhf.runlog.os.fsync", _no_space)
        for attempt in (
            lambda: lab.launch("after"),
            lambda: meta.note(lab.workspace, run, "text"),
        ):
            with pytest.raises(SessionError, match="No space left") as caught:
                attempt()
            assert caught.value.exit_code == 4 and "prune" in str(caught.value.fix)
    assert [path.name for path in lab.workspace.runs.iterdir()] == [run], "a launch left rubbish"
    assert not queue.entries(lab.workspace)
    assert lab.listed()[run]["state"] == "finished"


@case("a read-only workspace")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(lab)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        patch.setattr(os, "open", refuse)
        assert lab.listed()[run]["state"] == "running", "reading needs no writing"
        for attempt in (
            lambda: lab.launch("after"),
            lambda: stop(lab.workspace, lab.folder(run)),
            lambda: meta.tag(lab.workspace, run, ["x"]),
        ):
            with pytest.raises(SessionError, match="Read-only") as caught:
                attempt()
            assert caught.value.exit_code == 4 and caught.value.path
    stop(lab.workspace, lab.folder(run))


@case("a corrupt cache")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions.catalogue.KEEP_FROM", 1)
    run = finished(lab)
    before = lab.listed()
    caches = [path for path in lab.workspace.cache.rglob("*") if path.is_file()]
    assert caches
    kept = {path: path.read_bytes() for path in caches}
    assert any(b'"finished"' in data for data in kept.values())
    for rubbish in (b"", b"\x00\xff" * 50, b'{"format": 1', None):
        for path, data in kept.items():
            flipped = data.replace(b'"finished"', b'"failed"')
            path.write_bytes(flipped if rubbish is None else rubbish)
        assert lab.listed() == before
    assert before[run]["state"] == "finished"


@case("a deleted cache")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions.catalogue.KEEP_FROM", 1)
    finished(lab)
    before = lab.listed()
    shutil.rmtree(lab.workspace.cache)
    assert lab.listed() == before


def finished(lab: Lab) -> str:
    """A run that has ended, and that nobody looks after any more."""
    (run,) = lab.launch("done")
    lab.until(run, "finished")
    eventually(lambda: supervisor(lab.workspace) is None)
    return run


@case("half-written records")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pause(lab.workspace, True)
    torn, whole = lab.launch("r", seed=[0, 1])
    record = lab.folder(torn) / "run.json"
    record.write_bytes(record.read_bytes()[:100])
    lab.workspace.entry(whole).write_bytes(b'{"posi')
    lab.workspace.lock.write_bytes(b'{"host": "x')
    meta.tag(lab.workspace, whole, ["kept"])
    with open(lab.workspace.meta / f"{whole}.jsonl", "ab") as file:
        file.write(b'{"kind": "tag", "add": ["torn"')
    meta.tag(lab.workspace, whole, ["after"])
    assert lab.state(torn).state == "unknown"
    listing = Catalogue(Task(lab.task), lab.workspace).scan()
    assert [problem["path"] for problem in listing.problems] == [str(record)]
    queue.pause(lab.workspace, False)
    ensure_supervisor(lab.workspace)
    lab.until(whole, "finished")
    assert meta.read(lab.workspace, whole).tags == ["kept", "after"]
    eventually(lambda: supervisor(lab.workspace) is None)


@case("5,000 runs")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short form: a second look at 300 runs reads only those that may have moved."""
    run = begun(lab)
    for number in range(299):
        folder = lab.workspace.runs / f"old-{number}"
        folder.mkdir()
        record = new_record("run", f"old {number}", [], process=own().as_dict() | {"start": "1"})
        (folder / "run.json").write_text(json.dumps(record))
        (folder / "done.json").write_text('{"outcome": "finished"}')
    read: list[Path] = []
    real = rundir.read_run

    def counted(folder: Path, *rest: Any) -> Any:
        read.append(folder)
        return real(folder, *rest)

    monkeypatch.setattr("sessions.catalogue.read_run", counted)
    assert len(lab.listed()) == 300
    assert len(read) >= 300
    read.clear()
    assert lab.listed()[run]["state"] == "running"
    assert [folder.name for folder in read if folder.parent == lab.workspace.runs] == [run]
    stop(lab.workspace, lab.folder(run))


NAMES = {
    "names with spaces": "two  words ",
    "names with slashes": "../../a/b\\c",
    "names with [/]": "[b]loss[/]",
    "names with CJK": "実験 一",
    "names with control characters": "a\x1b]0;title\x07\x1b[31mred\nline\x00",
}


@pytest.mark.parametrize("words", NAMES)
def test_withstands_names(words: str, lab: Lab) -> None:
    (run,) = lab.launch(NAMES[words])
    assert ID.match(run) and lab.folder(run).parent == lab.workspace.runs
    lab.until(run, "finished")
    assert lab.listed()[run]["name"] == NAMES[words]
    assert [path for path in lab.workspace.root.parent.iterdir() if path.name == "a"] == []


@case("two launches of one name")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend(lab.launch("one name"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 6
    for run in made:
        lab.until(run, "finished")
        assert len(lab.starts(run)) == 1
        record = load(lab.folder(run))
        assert record is not None and record["id"] == run


@case("a wrapper edited while its run is queued")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pause(lab.workspace, True)
    wrapper = lab.task.parent / "w.py"
    source = "def transform(records, tokens, rewards): return rewards\n"
    wrapper.write_text(source)
    good, bad = lab.launch("w", seed=[0, 1], reward_wrapper=str(wrapper))
    wrapper.write_text("def transform(records, tokens, rewards): return None\n")
    (lab.folder(bad) / "wrapper.py").write_text(wrapper.read_text())
    queue.pause(lab.workspace, False)
    ensure_supervisor(lab.workspace)
    lab.until(good, "finished")
    assert (lab.folder(good) / "wrapper.py").read_text() == source
    reason = lab.until(bad, "failed").reason
    assert reason is not None and "wrapper.py has changed" in reason
    assert lab.starts(bad) == []


@case("two dashboards on one workspace")
def _(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with dashboard(lab) as one, dashboard(lab) as other:
        runs = lab.launch("d", seed=[0, 1, 2, 3], steps=20)
        bosses = set()
        while any(lab.state(run).state != "finished" for run in runs):
            bosses.add(boss(lab))
            time.sleep(0.05)
        one.kill()
        other.kill()
    assert len(bosses) == 1
    assert [len(lab.starts(run)) for run in runs] == [1, 1, 1, 1]


@pytest.mark.parametrize("words", CASES)
def test_withstands(words: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    CASES[words](lab, monkeypatch)
