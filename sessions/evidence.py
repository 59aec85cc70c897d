"""Reading a run's folder for what `states.derive` judges by."""

import time
from pathlib import Path
from typing import Any

from rlhf.runlog import DONE_NAME, LOG_NAME

from .paths import RUN_RECORD, Workspace
from .runfiles import has_policy, last_rows, mtime, read_object
from .states import Evidence, State, derive

Object = dict[str, Any]


def state_of(folder: Path, record: Object | None = None) -> State:
    """The state of the run in `folder` now; `record` may be given if it was just read."""
    record = read_object(folder / RUN_RECORD, []) if record is None else record
    done = read_object(folder / DONE_NAME, [])
    return judge(folder, record, done, last_rows(folder / LOG_NAME))


def judge(folder: Path, record: Object | None, done: Object | None, rows: list[Object]) -> State:
    """The state of a folder of which these were read, in this order, just now."""
    state = derive(_gather(folder, record, done, rows))
    if state.state == "lost" and done is None:  # its receipt may have come while we looked
        done = read_object(folder / DONE_NAME, [])
        state = derive(_gather(folder, record, done, rows))
    return state


def _gather(
    folder: Path, record: Object | None, done: Object | None, rows: list[Object]
) -> Evidence:
    written = mtime(folder / LOG_NAME) if rows else None
    return Evidence(
        record=record,
        done=done,
        rows=rows,
        has_policy=has_policy(folder),
        queued=Workspace(folder.parent.parent).entry(folder.name).exists(),
        log_age_s=None if written is None else time.time() - written,
    )
