"""What happened to runs while the dashboard was open: notes with the time of day. No Textual."""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sessions.states import LIVE

from .fields import Run
from .render import clean

MOST = 200  # notes that are kept


@dataclass
class Notes:
    """The newest notes, oldest first."""

    kept: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=MOST))

    def add(self, text: str) -> str:
        """Keep a note; the note."""
        self.kept.append((time.strftime("%H:%M:%S"), text))
        return text


def endings(before: Mapping[str, Run], after: Mapping[str, Run]) -> Iterator[str]:
    """What to say of runs that ended, failed, stalled or were lost between two listings."""
    for key, run in after.items():
        old = before.get(key)
        if old is None or old["state"] == run["state"] or old["state"] not in LIVE:
            continue
        if run["state"] not in LIVE or run["state"] == "stalled":
            reason = f": {run['reason']}" if run["reason"] else ""
            yield clean(f"{run['name']} {_SAID.get(run['state'], run['state'])}{reason}")


_SAID = {"finished": "has finished", "stopped": "was stopped", "lost": "is lost"}
