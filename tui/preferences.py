"""How the person wants the dashboard, kept with the workspace: columns, look, alert rules, bell."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.runlog import write_json
from sessions.errors import SessionError, writing
from sessions.record import locked
from sessions.runfiles import read_object

from .columns import COLUMNS, PINNED
from .looks import LOOKS
from .state import State


class Wanted(NamedTuple):
    """What is kept."""

    columns: list[str]
    look: str | None = None
    alerts: list[str] = []  # noqa: RUF012
    bell: bool = False


class Preferences:
    """A file of them. What another dashboard did to the rules meanwhile stays done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules: list[str] = []  # as they were kept last
        self._newest: Wanted | None = None
        self._saving = threading.Lock()
        self.look: str | None = None

    def load(self, state: State) -> None:
        """Take the kept preferences over; a missing or damaged file changes nothing."""
        kept = read_object(self._path, []) or {}
        columns = kept.get("columns")
        if isinstance(columns, list):
            known = [key for key in columns if isinstance(key, str) and key in COLUMNS]
            state.columns = [*PINNED, *dict.fromkeys(key for key in known if key not in PINNED)]
        state.watch.alerts.restore(_rules(kept))
        state.watch.bell = kept.get("bell") is True
        self._rules = state.watch.alerts.rules
        self.look = look if (look := kept.get("look")) in LOOKS else None

    def of(self, state: State) -> Wanted:
        """What is to be kept now, in the place of what was wanted before."""
        watch = state.watch
        self._newest = Wanted(list(state.columns), self.look, watch.alerts.rules, watch.bell)
        return self._newest

    def save(self, wanted: Wanted) -> str:
        """Keep it; what to say if that cannot be: it holds until the dashboard ends.

        For workers, which may come in another order: what is not the newest is kept no more.
        """
        with self._saving:
            return self._save(wanted) if self._newest in (None, wanted) else ""

    def _save(self, wanted: Wanted) -> str:
        path = self._path
        try:
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path.parent), writing(path):
                there = _rules(read_object(path, []) or {})
                alerts = _merged(there, self._rules, wanted.alerts)
                write_json(path, {"format": 1, **wanted._replace(alerts=alerts)._asdict()})
        except SessionError as error:
            reason = str(error).replace(f"{path.parent}/", "")
            return f"not kept for the next time: {reason} ({error.fix})"
        self._rules = wanted.alerts
        return ""


def _rules(kept: Mapping[str, Any]) -> list[str]:
    found = kept.get("alerts")
    return [rule for rule in found if isinstance(rule, str)] if isinstance(found, list) else []


def _merged(there: list[str], before: list[str], alerts: list[str]) -> list[str]:
    """The rules that are there, less what was removed here, and what was added here."""
    kept = [rule for rule in there if rule in alerts or rule not in before]
    return kept + [rule for rule in alerts if rule not in kept and rule not in before]
