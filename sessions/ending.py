"""How a run's process was seen to end, kept in its record: the run itself may not have told."""

import re
import subprocess
from pathlib import Path

from .identity import parse
from .log_pages import last_page
from .log_text import ERRORS
from .paths import OUTPUT_LOG
from .record import Record, now, update


def keep_ending(folder: Path, attempt: int, child: subprocess.Popen[bytes]) -> bool:
    """Keep how a run's process ended; False if it was not this child's to begin.

    Raises SessionError if it cannot be written.
    """
    code = child.returncode

    def keep(record: Record) -> bool | None:
        process = parse(record["process"])
        if record["attempt"] != attempt or process is None or process.pid != child.pid:
            return False
        number = -code if code < 0 else None
        ended = {"code": None if code < 0 else code, "signal": number, "at": now()}
        record["exit"] = ended | {"said": _last_words(folder)}
        return None

    return update(folder, keep) is not None


def _last_words(folder: Path) -> str | None:
    """What it printed last, if that tells of an error."""
    try:
        said = "".join(line.text for line in last_page(folder / OUTPUT_LOG, 1))
    except OSError:
        return None
    return said.removeprefix("error: ") if re.search(ERRORS, said) else None
