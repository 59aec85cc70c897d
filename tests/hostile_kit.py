"""The table of hostile cases, and what they share."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from kill_harness import DASHBOARD
from toy_lab import Lab, eventually

from sessions.supervise import python_environment, supervisor

Case = Callable[[Lab, pytest.MonkeyPatch], None]
CASES: dict[str, Case] = {}


def case(words: str) -> Callable[[Case], Case]:
    def register(function: Case) -> Case:
        CASES[words] = function
        return function

    return register


def begun(lab: Lab, **axes: Any) -> str:
    """A run that is training, with a checkpoint every step, and is held halfway."""
    lab.hold()
    (run,) = lab.launch("victim", **{"steps": 60, "save_every": 1, **axes})
    lab.until(run, "running")
    return run


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def boss(lab: Lab) -> int:
    found = eventually(lambda: supervisor(lab.workspace))
    return int(found.pid)


def dashboard(lab: Lab) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-c", DASHBOARD, str(lab.task), str(lab.workspace.root)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, env=python_environment())


def finished(lab: Lab) -> str:
    """A run that has ended, and that nobody looks after any more."""
    (run,) = lab.launch("done")
    lab.until(run, "finished")
    eventually(lambda: supervisor(lab.workspace) is None)
    return run
