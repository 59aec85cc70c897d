"""Run folders that others wrote: a run.json with keys too few, too many, or of another kind."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from toy_lab import Lab

from sessions import meta
from sessions.detail import detail
from sessions.errors import InputError, SessionError, UsageError
from sessions.evidence import state_of
from sessions.identity import own
from sessions.inputs import changed_inputs
from sessions.record import load, new_record
from sessions.replay import replay
from sessions.resume import resume
from sessions.stop import stop

GONE = {**own().as_dict(), "boot": "another"}
KEYS = (*new_record("run", "n", []), "inputs", "config", "replay_of", "hashes", "validation")


def folder_of(lab: Lab, record: Any, outcome: str | None = None) -> Path:
    """A run of elsewhere, by its record and how it ended."""
    folder = lab.workspace.runs / "theirs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(record))
    if outcome:
        (folder / "done.json").write_text(json.dumps({"outcome": outcome, "reason": "said so"}))
    return folder


@pytest.mark.parametrize("record", [{"name": "x", "more": [1]}, new_record("run", "x", [])])
@pytest.mark.parametrize("outcome", ["finished", "failed", "stopped"])
def test_a_receipt_tells_how_it_ended_whatever_the_record_lacks(
    lab: Lab, record: dict[str, Any], outcome: str
) -> None:
    folder = folder_of(lab, record, outcome)
    assert state_of(folder) == (outcome, "said so")
    before = (folder / "run.json").read_bytes()
    with pytest.raises(UsageError):
        stop(lab.workspace, folder)
    if outcome == "finished" or "process" not in record:
        with pytest.raises(UsageError):
            resume(lab.workspace, folder)
    assert (folder / "run.json").read_bytes() == before


def test_a_receipt_of_an_attempt_before_is_not_this_one_s(lab: Lab) -> None:
    folder = folder_of(lab, {**new_record("run", "x", []), "attempt": 2}, "failed")
    assert state_of(folder).state == "queued"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("process", [None, GONE], ids=["not begun", "gone"])
def test_a_record_that_holds_anything_is_shown_and_acted_on_or_refused(
    lab: Lab, key: str, process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions.resume.ensure_supervisor", lambda workspace: None)
    for value in ("text", 7, [1], {"a": 1}, None, True):
        record = {**new_record("run", "x", ["true"]), "process": process, key: value}
        folder = folder_of(lab, record)
        detail(lab.workspace, "theirs", folder)
        with suppress(SessionError):
            stop(lab.workspace, folder)
        with suppress(SessionError):
            resume(lab.workspace, folder)
        with suppress(SessionError):
            replay(lab.workspace, lab.task, folder)


def test_inputs_that_are_not_on_record_count_as_changed() -> None:
    assert changed_inputs({"policy_init": 7}) == ["policy_init: what it was is not on record"]


def test_a_pipe_in_the_place_of_any_file_keeps_nobody_waiting(lab: Lab) -> None:
    folder = folder_of(lab, {})
    (folder / "run.json").unlink()
    lab.workspace.meta.mkdir()
    os.mkfifo(folder / "run.json")
    os.mkfifo(meta.path_of(lab.workspace, "theirs"))
    os.mkfifo(folder / "weights")
    with pytest.raises(InputError, match=r"run\.json cannot be read: is no regular file"):
        load(folder)
    assert meta.read(lab.workspace, "theirs").rows == []
    was = {"path": str(folder / "weights"), "sha256": ""}
    assert "no regular file" in changed_inputs({"prompt_file": was})[0]
    assert lab.listed()["theirs"]["tags"] == []
