"""Reading a run's folder for what `states.derive` judges by."""

import time
from pathlib import Path
from typing import Any

from rlhf.runlog import DONE_NAME, LOG_NAME

from .paths import QUEUE_NAME, RUN_RECORD
from .rundir import POLICY_NAME, last_rows, mtime, read_object
from .states import Evidence, State, derive


def state_of(folder: Path, record: dict[str, Any] | None = None) -> State:
    """The state of the run in `folder` now; `record` may be given if it was just read."""
    record = read_object(folder / RUN_RECORD, []) if record is None else record
    return derive(gather(folder, record, read_object(folder / DONE_NAME, [])))


def gather(
    folder: Path,
    record: dict[str, Any] | None,
    done: dict[str, Any] | None,
    rows: list[dict[str, Any]] | None = None,
) -> Evidence:
    """The evidence in `folder`, of which record, receipt and last log rows were read already."""
    rows = last_rows(folder / LOG_NAME) if rows is None else rows
    written = mtime(folder / LOG_NAME) if rows else None
    return Evidence(
        record=record,
        done=done,
        rows=rows,
        has_policy=(folder / POLICY_NAME).is_file(),
        queued=(folder.parent.parent / QUEUE_NAME / f"{folder.name}.json").exists(),
        log_age_s=None if written is None else time.time() - written,
    )
