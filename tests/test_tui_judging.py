"""What grading and deciding withstand: folders that vanish, no walls, cancels, kills, changes."""

import hashlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from synthetic import Console, open_terminal
from terminal import Terminal
from toy_lab import eventually
from toy_scores import gone

from sessions.identity import alive
from sessions.paths import Workspace
from sessions.supervise import supervisor
from tui.grade_desk import Desk
from tui.render import ascii_only

RUN = "kl002-s1500"
# Narrates, starts a child of its own, and then does what the file beside it says.
GRADER = """
import os, subprocess, sys, time
folder, here = sys.argv[-1], os.path.dirname(__file__)
mode = open(here + "/mode").read()
print("reading " + os.path.basename(folder), file=sys.stderr, flush=True)
child = subprocess.Popen(["sleep", "600"])
with open(here + "/pids", "a") as file:
    print(os.getpid(), child.pid, file=file)
if mode == "walls":
    child.kill()
    sys.exit("error: cannot isolate: level limits-only (install bubblewrap)")
while os.path.isdir(folder):
    time.sleep(0.05)
child.kill()
sys.exit("error: " + folder + " is gone")
"""


@pytest.fixture
def grading(console: Console) -> Iterator[Console]:
    """A console with one submission and a made-up grader; what it started is ended."""
    place = console.place / "fake" / "grader"
    place.mkdir()
    (place / "__init__.py").write_text("")
    (place / "__main__.py").write_text(GRADER)
    (place / "mode").write_text("slow")
    (console.workspace / "submissions" / "sub").mkdir(parents=True)
    yield console
    boss = supervisor(Workspace(console.workspace))
    if boss is not None and alive(boss):
        os.kill(boss.pid, signal.SIGKILL)
    for pid in graders(console):
        if not gone(pid):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def at_work(console: Console, width: int = 80, height: int = 24) -> Iterator[Terminal]:
    """A dashboard that has been told to grade the submission."""
    with open_terminal(console, width, height) as terminal:
        terminal.sees(RUN)
        terminal.press("5")
        terminal.sees("submissions (1)")
        terminal.press("g")
        yield terminal


def graders(console: Console) -> list[int]:
    """The processes of the made-up grader and its children."""
    path = console.place / "fake" / "grader" / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def test_x_on_a_running_grading_leaves_nothing_running(grading: Console) -> None:
    with at_work(grading) as terminal:
        terminal.until(lambda: bool(graders(grading)))
        terminal.sees("running", "reading sub")
        terminal.press("end", "X")
        terminal.sees("cancel")
        terminal.press("enter")
        terminal.sees("stopped")
    assert eventually(lambda: all(map(gone, graders(grading))))


def test_a_submission_that_disappears_while_it_is_graded_is_told(grading: Console) -> None:
    with at_work(grading) as terminal:
        terminal.until(lambda: bool(graders(grading)))
        shutil.rmtree(grading.workspace / "submissions" / "sub")
        terminal.sees("submissions (0)", "failed", "no grade: error")


def test_a_grader_that_cannot_isolate_says_the_level_and_what_to_do(grading: Console) -> None:
    (grading.place / "fake" / "grader" / "mode").write_text("walls")
    with at_work(grading, 160, 50) as terminal:
        terminal.sees("failed", "level limits-only", "install bubblewrap")


def test_a_grading_outlives_a_killed_dashboard(grading: Console) -> None:
    with at_work(grading) as terminal:
        terminal.until(lambda: bool(graders(grading)))
        terminal.signal(signal.SIGKILL)
        terminal.wait()
    assert not any(map(gone, graders(grading)))
    with open_terminal(grading) as terminal:
        terminal.sees(RUN)
        terminal.press("5")
        terminal.sees("running", "reading sub")


def test_a_dashboard_killed_in_the_decision_decides_once_or_not_at_all(console: Console) -> None:
    with open_terminal(console) as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "d")
        terminal.sees("true quality of anvil")
        terminal.press("h")
        terminal.sees("why hold?")
        terminal.press("collapsed", "enter")
        terminal.signal(signal.SIGKILL)
        terminal.wait()
    path = console.workspace / "meta" / f"{RUN}.jsonl"
    made = [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []
    assert [one["reason"] for one in made] in ([], ["collapsed"])


def test_a_policy_that_changes_while_it_is_decided_on_is_not_decided_on(console: Console) -> None:
    policy = console.task / "runs" / RUN / "policy.safetensors"
    other = b"another policy"
    with open_terminal(console, 100, 70) as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "d")
        terminal.sees("true quality of anvil")
        policy.write_bytes(other)
        terminal.press("h")
        terminal.sees("why hold?")
        terminal.press("collapsed", "enter")
        terminal.sees("not on record")
        assert not (console.workspace / "meta" / f"{RUN}.jsonl").exists()
        terminal.sees(hashlib.sha256(other).hexdigest()[:12])  # the evidence, read anew
        terminal.press("enter")
        terminal.until((console.workspace / "meta" / f"{RUN}.jsonl").exists)


def test_a_torn_grade_is_read_once_and_again_when_it_is_mended(tmp_path: Path) -> None:
    place = tmp_path / "grades" / "torn"
    place.mkdir(parents=True)
    (place / "grade.json").write_text('{"reward": 0.')
    desk, known, told = Desk(Workspace(tmp_path), threading.Event()), {}, []
    desk.want(("torn",))
    for _ in range(3):
        desk._read(known, told.append)
    assert len(told) == 1 and "problem" in told[0]["torn"]
    (place / "grade.json").write_text('{"components": {}}')
    os.utime(place / "grade.json", (1, 1))
    desk._read(known, told.append)
    assert len(told) == 2 and "problem" not in told[1]["torn"]


def test_a_difference_is_marked_in_ascii_too() -> None:
    assert ascii_only("≠ reward") == "! reward"
