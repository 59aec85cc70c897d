"""How the person wants the dashboard, kept with the workspace: columns, look, alert rules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json
from sessions.errors import SessionError, writing
from sessions.record import locked
from sessions.runfiles import read_object

from .columns import COLUMNS, PINNED
from .looks import LOOKS
from .state import State


def load(path: Path, state: State) -> str | None:
    """Put what was kept into the state; the kept look, if any. Damage counts as nothing kept."""
    kept = read_object(path, []) or {}
    columns = kept.get("columns")
    if isinstance(columns, list):
        known = [key for key in columns if isinstance(key, str) and key in COLUMNS]
        state.columns = [*PINNED, *dict.fromkeys(key for key in known if key not in PINNED)]
    state.watch.alerts.restore(_rules(kept))
    look = kept.get("look")
    return look if look in LOOKS else None


def save(
    path: Path, columns: list[str], look: str | None, alerts: list[str], before: list[str]
) -> str:
    """Keep them; what to say if that cannot be: they hold until the dashboard ends.

    `before` are the rules that were kept last: another dashboard's stay, and stay removed.
    """
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent), writing(path):
            rules = _merged(_rules(read_object(path, []) or {}), before, alerts)
            write_json(path, {"format": 1, "columns": columns, "look": look, "alerts": rules})
    except SessionError as error:
        reason = str(error).replace(f"{path.parent}/", "")
        return f"not kept for the next time: {reason} ({error.fix})"
    return ""


def _rules(kept: Mapping[str, Any]) -> list[str]:
    found = kept.get("alerts")
    return [rule for rule in found if isinstance(rule, str)] if isinstance(found, list) else []


def _merged(there: list[str], before: list[str], alerts: list[str]) -> list[str]:
    """The rules that are there, less what was removed here, and what was added here."""
    kept = [rule for rule in there if rule in alerts or rule not in before]
    return kept + [rule for rule in alerts if rule not in kept and rule not in before]
