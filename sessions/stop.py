"""Ending a run: ask it to save and end, wait, insist, and make sure that all of it is gone."""

import signal
import time
from dataclasses import dataclass
from pathlib import Path

from rlhf.runlog import DONE_NAME

from . import queue
from .errors import AnswerNo, SessionError, UsageError, no_room
from .evidence import state_of
from .identity import Process, alive, members, parse, signal_members, wait_gone
from .paths import Workspace
from .record import Record, load, now, operator, update

GRACE_S = 30.0  # from TERM to KILL: a training step takes under a second
KILL_S = 10.0
RECEIPT_S = 3.0  # from a run's receipt to its end


@dataclass(frozen=True)
class Stopped:
    """How a run was ended: cancelled in the queue, by itself after TERM, or killed."""

    id: str
    how: str  # cancelled | ended | killed | was not running
    seconds: float


def stop(workspace: Workspace, folder: Path, grace_s: float = GRACE_S) -> Stopped:
    """End the run of `folder` and all that it started, verified.

    A full disk does not keep a run alive: it ends, though the record does not say who asked.
    Raises UsageError if it has ended already and left nothing, AnswerNo if something survives
    KILL, SessionError if its record cannot be written.
    """
    began = time.monotonic()
    _let_it_leave(folder)
    record = _ask(workspace, folder)
    process = parse(record["process"])
    if record["cancelled"]:
        return Stopped(folder.name, "cancelled", 0.0)
    assert process is not None, "what is not cancelled has begun"
    how = _end(process, str(folder), grace_s)
    _conclude(folder, record["attempt"], how)
    return Stopped(folder.name, how, time.monotonic() - began)


def _let_it_leave(folder: Path) -> None:
    """A run that has written its receipt is leaving by itself: give it a moment."""
    record = load(folder)
    if record is None:
        raise UsageError(f"{folder.name} was not started from here: it cannot be stopped")
    process = parse(record["process"])
    if process is None and not record["cancelled"] and state_of(folder, record).state != "queued":
        raise UsageError(f"{folder.name} does not run")
    if process is not None and (folder / DONE_NAME).exists():
        wait_gone(process, str(folder), RECEIPT_S)


def _ask(workspace: Workspace, folder: Path) -> Record:
    """Note in the record who wants it to end; a run that has not begun will not begin."""

    def note(record: Record) -> bool | None:
        process = parse(record["process"])
        if process is None:
            record["cancelled"] = {"by": operator(), "at": now()}
        else:
            _check_reachable(folder, process)
            record["stop"] = {"by": operator(), "at": now(), "ended": None}
        return None

    def leave_line(record: Record) -> None:
        if record["cancelled"]:
            queue.remove(workspace, folder.name)

    try:
        record = update(folder, note, leave_line)
    except SessionError as error:
        record = load(folder)
        if record is None or record["process"] is None or not no_room(error):
            raise
    assert record is not None
    return record


def _check_reachable(folder: Path, process: Process) -> None:
    lives = alive(process)
    if lives is None:
        raise UsageError(f"{folder.name} runs on another host: stop it on {process.host}")
    if not lives and not members(process, str(folder)):
        raise UsageError(f"{folder.name} does not run")


def _end(process: Process, mark: str, grace_s: float) -> str:
    """TERM to the run and all it started; KILL after `grace_s`. Raises AnswerNo."""
    signal_members(process, mark, signal.SIGTERM)
    signal_members(process, mark, signal.SIGCONT)  # what is suspended must wake to hear it
    if wait_gone(process, mark, grace_s):
        return "ended"
    deadline = time.monotonic() + KILL_S
    while time.monotonic() < deadline:
        signal_members(process, mark, signal.SIGKILL)
        if wait_gone(process, mark, 0.2):
            return "killed"
    left = ", ".join(str(pid) for pid in members(process, mark))
    raise AnswerNo(f"still alive after KILL: process {left}", fix="try again, or look at `ps`")


def _conclude(folder: Path, attempt: int, how: str) -> None:
    """Verified gone. Without a receipt, the record says how it ended."""
    if (folder / DONE_NAME).exists():
        return

    def note(record: Record) -> bool | None:
        if record["attempt"] != attempt or not record["stop"]:
            return False
        record["stop"]["ended"] = how
        return None

    try:
        update(folder, note)
    except SessionError as error:
        if not no_room(error):
            raise
