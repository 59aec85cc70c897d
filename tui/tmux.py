"""Copying out of tmux, which unless told otherwise ignores what a program in it sends as OSC 52."""

import os
import subprocess
from collections.abc import Callable

COPY = ("tmux", "load-buffer", "-w", "-")  # to a buffer of its own, and on to its terminal
PATIENCE_S = 2.0


def inside() -> bool:
    """Whether the terminal is one of tmux's."""
    return bool(os.environ.get("TMUX"))


def copy(text: str, tell: Callable[[str], None]) -> None:
    """Hand tmux a copy; `tell` hears if it takes none."""
    data = text.encode("utf-8", "replace")
    try:
        subprocess.run(COPY, input=data, capture_output=True, timeout=PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        tell("tmux did not take the copy: tmux 3.2 does, or w writes a file")
