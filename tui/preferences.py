"""How the person wants the dashboard, kept with the workspace: columns, look, alert rules, bell."""

from contextlib import suppress
from pathlib import Path

from rlhf.runlog import write_json
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
    state.watch.alerts.restore(kept.get("alerts"))
    state.watch.bell = kept.get("bell") is True
    look = kept.get("look")
    return look if look in LOOKS else None


def save(
    path: Path, columns: list[str], look: str | None, alerts: list[str], bell: bool = False
) -> None:
    """Keep them; a workspace that cannot be written keeps nothing."""
    kept = {"format": 1, "columns": columns, "look": look, "alerts": alerts, "bell": bell}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, kept)
