"""Hostile cases: disks, caches, records, launches and wrappers that are not what they should be."""

import errno
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hostile_kit import begun, case, finished
from toy_lab import Lab, eventually

from sessions import meta, queue, rundir
from sessions.catalogue import Catalogue
from sessions.errors import SessionError
from sessions.identity import own
from sessions.record import load, new_record
from sessions.stop import stop
from sessions.supervise import ensure_supervisor, supervisor
from sessions.task import Task


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
