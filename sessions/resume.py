"""Another attempt at a run that ended early, from its last complete checkpoint."""

import signal
from pathlib import Path

from . import queue
from .errors import InputError, UsageError
from .evidence import state_of
from .identity import alive, parse, signal_members
from .inputs import changed_inputs
from .paths import Workspace
from .record import Record, fresh_attempt, load, update
from .supervise import ensure_supervisor

RESUMABLE = ("stopped", "failed", "lost")
_KEPT = ("attempt", "process", "exit", "stop", "cancelled")


def resume(workspace: Workspace, folder: Path) -> None:
    """Put the run of `folder` back into the line.

    Raises UsageError if its state does not allow it, InputError if an input has changed.
    """
    record = load(folder)
    if record is None:
        raise UsageError(f"{folder.name} was not started from here", fix="rlhf-tui clone it")
    changed = changed_inputs(record.get("inputs") or {})
    if changed:
        fix = "put the file back, or start a new run: rlhf-tui clone"
        raise InputError(f"{folder.name} cannot go on: {'; '.join(changed)}", str(folder), fix)
    _sweep(folder, record)
    position = queue.end_of_line(workspace)
    # one lock for both: a supervisor drops the entry of what has ended under it, too
    update(
        folder,
        lambda record: _next_attempt(folder, record),
        lambda record: queue.add(workspace, folder.name, position),
    )
    ensure_supervisor(workspace)


def _sweep(folder: Path, record: Record) -> None:
    """End what a killed run left behind of itself, so that it cannot touch the next attempt."""
    process = parse(record["process"])
    if process is not None and not alive(process):
        signal_members(process, str(folder), signal.SIGKILL)


def _next_attempt(folder: Path, record: Record) -> None:
    state = state_of(folder, record)
    if state.state == "queued":
        return  # its place in the line was lost; it has one again
    if state.state not in RESUMABLE:
        raise UsageError(f"{folder.name} is {state.state}: only a run that ended early can go on")
    if record["cancelled"]:
        record["cancelled"] = None
        return
    record["attempts"].append({key: record[key] for key in _KEPT})
    record.update(fresh_attempt(record["attempt"] + 1))
