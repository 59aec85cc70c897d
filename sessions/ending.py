"""How a run's process was seen to end: in its record, and in a receipt if it could write none."""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

from rlhf.runlog import DONE_NAME, write_done

from .errors import writing
from .identity import parse
from .log_pages import last_page
from .log_text import ERRORS
from .paths import OUTPUT_LOG
from .record import Record, now, update

TOLD_TO_END = (130, 143)  # exit codes after SIGINT and SIGTERM


def keep_ending(folder: Path, attempt: int, child: subprocess.Popen[bytes], full: bool) -> bool:
    """Keep how a run's process ended; False if it was not this child's to begin.

    `full` says that the disk was full then. Raises SessionError if it cannot be written.
    """
    code = child.returncode

    def keep(record: Record) -> bool | None:
        process = parse(record["process"])
        if record["attempt"] != attempt or process is None or process.pid != child.pid:
            return False
        number = -code if code < 0 else None
        record["exit"] = {"code": None if code < 0 else code, "signal": number, "at": now()}
        return None

    def receipt(record: Record) -> None:
        if code > 0 and not (folder / DONE_NAME).exists():
            _leave_receipt(folder, record, code, full)

    return update(folder, keep, receipt) is not None


def _leave_receipt(folder: Path, record: Record, code: int, full: bool) -> None:
    began = record["process"].get("monotonic") or time.monotonic()
    receipt: dict[str, Any] = {
        "outcome": "stopped" if code in TOLD_TO_END else "failed",
        "reason": "; ".join(
            [_last_words(folder) or f"exit code {code}", *["the disk was full"] * full]
        ),
        "by": "the supervisor",
        "steps": None,
        "wall_s": round(time.monotonic() - began, 3),
        "artifacts": {},
        "ended": now(),
    }
    with writing(folder / DONE_NAME):
        write_done(folder, receipt)


def _last_words(folder: Path) -> str:
    """What it printed last, if that tells of an error."""
    try:
        said = "".join(line.text for line in last_page(folder / OUTPUT_LOG, 1))
    except OSError:
        return ""
    return said.removeprefix("error: ") if re.search(ERRORS, said) else ""
