"""The dashboard over the shipped task, with everything real, for tests of whole journeys."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from terminal import Terminal

from sessions.identity import alive
from sessions.paths import Workspace
from sessions.supervise import supervisor

ROOT = Path(__file__).resolve().parents[1]
TASK = ROOT / "fixture" / "task"


def dashboard(workspace: Path, cache: Path, columns: int, lines: int) -> Terminal:
    """The dashboard over the shipped task, in a pty."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(workspace),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(cache),
        "RLHF_TUI_WORKSPACE": str(workspace),
    }
    command = [sys.executable, "-m", "tui.cli", "--task", str(TASK)]
    return Terminal(command, environment, columns, lines)


@contextmanager
def supervised(workspace: Path) -> Iterator[None]:
    """A block whose queue's supervisor is ended with it."""
    try:
        yield
    finally:
        boss = supervisor(Workspace(workspace))
        if boss is not None and alive(boss):
            os.kill(boss.pid, signal.SIGKILL)
