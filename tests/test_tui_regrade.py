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
            _go_to(terminal, name, 0)
            terminal.press("g")
            terminal.sees(f"grade {name}   queued")  # the cursor went to it
        shutil.rmtree(folder / "sooner")
        queue.pause(workspace, False)
        eventually(lambda: was_read(workspace, "changes"), 60)
        (folder / "changes" / "answer.json").write_text("{}")
        eventually(lambda: was_read(workspace, "later"), 60)
        shutil.rmtree(folder / "later")
        terminal.until(lambda: len(list(workspace.grades.glob("*/grade.json"))) == 3, 200)
        terminal.until(lambda: "being graded" not in terminal.text, 200)
        for name, said in WHAT_IS_SAID.items():
            _go_to(terminal, name, -1)
            terminal.until(lambda wanted=said: all(one in _detail(terminal) for one in wanted))


def _detail(terminal: Terminal) -> str:
    """The right half, its lines put together again."""
    right = (line.partition("│")[2] for line in terminal.screen.display)
    return " ".join(" ".join(right).split())


def _go_to(terminal: Terminal, name: str, which: int) -> None:
    """The cursor to the first or last item of that name, a row at a time."""
    while (here := _cursor(terminal)) != (there := _rows(terminal, name)[which]):
        terminal.press("down" if here < there else "up")
        terminal.until(lambda old=here: _cursor(terminal) not in (-1, old))
    terminal.until(lambda: name in _detail(terminal))


def _rows(terminal: Terminal, name: str) -> list[int]:
    """The lines of the left half that name it."""
    left = (line.partition("│")[0].split() for line in terminal.screen.display)
    named = (any(f"{word}-".startswith(f"{name}-") for word in words) for words in left)
    return [y for y, one in enumerate(named) if one]


def _cursor(terminal: Terminal) -> int:
    """The line that the cursor is on."""
    bold = (y for y, line in enumerate(terminal.screen.display) if "│" in line)
    return next((y for y in bold if terminal.screen.buffer[y][1].bold), -1)
