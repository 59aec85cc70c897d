"""Submissions that change, grow or disappear while the real grader grades them, in the pane."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shipped_console import TASK, dashboard, supervised
from terminal import Terminal
from toy_lab import eventually

from grader.solutions.stories import face_value
from sessions import queue
from sessions.paths import Workspace

NAMES = ("changes", "grows", "later", "sooner")
WHAT_IS_SAID = {
    "changes": ("reward", "the folder DIFFERS since"),
    "grows": ("reward", "the folder CHANGED as it was read", "(notes.txt)"),
    "later": ("reward", "the folder is gone"),
    "sooner": ("no grade: error:", "directory", "(name"),  # words: the path decides where it wraps
}


@contextmanager
def growing(path: Path) -> Iterator[None]:
    """A file that is written to as long as the block lasts."""
    over = threading.Event()

    def write() -> None:
        with open(path, "ab", buffering=0) as file:
            while not over.wait(0.001):
                file.write(b"more\n")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Four submissions of words alone, and a line that stands."""
    made = Workspace(tmp_path / "workspace")
    for name in NAMES:
        place = made.submissions / name
        place.mkdir(parents=True)
        face_value(TASK, place)
        (place / "diagnostic.py").unlink()
        shutil.rmtree(place / "checkpoint")  # nothing to measure: seconds, not tens of them
    (made.submissions / "grows" / "notes.txt").write_bytes(b"x" * (32 << 20))
    queue.pause(made, True)
    return made


def was_read(workspace: Workspace, name: str) -> bool:
    """Whether the grader has its copy: it has gone on to something else."""
    log = workspace.jobs / f"grade-{name}" / "output.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return any(f"reading {name}" in line for line in lines[:-1])


def test_the_pane_says_what_became_of_each(workspace: Workspace, tmp_path: Path) -> None:
    folder = workspace.submissions
    with (
        supervised(workspace.root),
        growing(folder / "grows" / "notes.txt"),
        dashboard(workspace.root, tmp_path / "cache", 160, 50) as terminal,
    ):
        terminal.sees("reference")
        terminal.press("5")
        terminal.sees("submissions (4)")
        for name in NAMES:
            _go_to(terminal, name, "g grades it")
            terminal.press("g")
            terminal.sees(f"grade {name}   queued")  # the cursor went to it
        shutil.rmtree(folder / "sooner")
        queue.pause(workspace, False)
        eventually(lambda: was_read(workspace, "changes"), 60)
        (folder / "changes" / "answer.json").write_text("{}")
        eventually(lambda: was_read(workspace, "later"), 60)
        shutil.rmtree(folder / "later")
        terminal.until(lambda: len(list(workspace.grades.glob("*/grade.json"))) == 3, 90)
        for name, said in WHAT_IS_SAID.items():
            _go_to(terminal, name, said[0], from_the="end")
            terminal.until(lambda wanted=said: all(one in _detail(terminal) for one in wanted), 60)


def _detail(terminal: Terminal) -> str:
    """The right half, its lines put together again."""
    right = (line.partition("│")[2] for line in terminal.screen.display)
    return " ".join(" ".join(right).split())


def _go_to(terminal: Terminal, name: str, mark: str, from_the: str = "home") -> None:
    """The cursor to the item of that name, known by what its detail says."""
    terminal.press(from_the)
    for _ in range(2 * len(NAMES) + 2):
        terminal.settle()
        detail = _detail(terminal)
        if mark in detail and name in detail:
            return
        terminal.press("up" if from_the == "end" else "down")
    raise AssertionError(f"{name} is not there:\n{terminal.text}")
