"""Waiting for runs to end, without taking any part in them."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import AnswerNo
from .evidence import state_of
from .paths import Workspace
from .states import LIVE, State
from .supervise import ensure_supervisor, supervised

POLL_S = 0.25
CARE_S = 5.0  # between looks whether the line still has its supervisor


def wait(
    workspace: Workspace,
    folders: Sequence[Path],
    timeout_s: float | None = None,
    each: Callable[[Mapping[str, State]], None] = lambda states: None,
) -> dict[str, State]:
    """The states of the runs once none of them lives any more; `each` sees them meanwhile.

    Raises AnswerNo after `timeout_s`, SessionError if a supervisor is needed and cannot start.
    """
    began, cared = time.monotonic(), 0.0
    while True:
        states = {folder.name: state_of(folder) for folder in folders}
        each(states)
        if not any(_goes_on(state) for state in states.values()):
            return states
        if time.monotonic() - cared > CARE_S:
            if not supervised(workspace):  # to begin one is to write, which not all who wait may
                ensure_supervisor(workspace)
            cared = time.monotonic()
        if timeout_s is not None and time.monotonic() - began > timeout_s:
            alive = ", ".join(name for name, state in states.items() if _goes_on(state))
            raise AnswerNo(f"still not ended after {timeout_s:g} s: {alive}")
        time.sleep(POLL_S)


def _goes_on(state: State) -> bool:
    """Whether it will end by itself; a run that has lost its place in the line will not."""
    return state.state in LIVE and not (state.state == "queued" and state.reason)
