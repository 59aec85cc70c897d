"""Why a run has no policy to look at yet, and what brings it one."""

from pathlib import Path

from .evidence import state_of
from .paths import RUN_RECORD
from .resume import RESUMABLE
from .runfiles import has_policy, read_object
from .states import LIVE, State


def policy_lack(folder: Path, identifier: str | None = None) -> str:
    """`stopped and has no policy yet: rlhf-tui resume ID`; nothing if the policy is there."""
    if has_policy(folder):
        return ""
    state = state_of(folder)
    command = _mend(folder, state)
    advice = f": rlhf-tui {command} {identifier or folder.name}" if command else ""
    return f"{state.state} and has no policy yet{advice}"


def _mend(folder: Path, state: State) -> str:
    """The command that helps; none for what was not started from here, or is no run."""
    record = read_object(folder / RUN_RECORD, [])
    if record is None or record.get("kind") != "run":
        return ""
    unqueued = state.state == "queued" and state.reason is not None
    if state.state in RESUMABLE or unqueued:
        return "resume"
    return "wait" if state.state in LIVE else ""
