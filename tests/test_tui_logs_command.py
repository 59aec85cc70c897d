"""`rlhf-tui logs`: pages, searches, following to the end."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from operating import Console
from toy_lab import ROOT, Lab, eventually

from tui import log_output


@pytest.fixture
def console(lab: Lab) -> Console:
    return Console(lab)


def test_logs_show_search_and_follow(console: Console) -> None:
    (run,) = console.lab.launch("r", steps=30)
    console.lab.until(run, "finished")
    output = console.lab.folder(run) / "output.log"
    with open(output, "ab") as file:
        file.write(b"10%\r\x1b[31m100%\x1b[0m\nTraceback: boom\xff\ntorn")
    done = console.run("logs", run, "-n", "3")
    assert done.stdout.splitlines()[1:] == ["100%", "Traceback: boom\ufffd", "torn"]
    assert done.stdout.startswith("step 30/30")
    assert console.run("logs", run, "--errors").stdout == "Traceback: boom\ufffd\n"
    found = console.json("logs", run, "--grep", r"step 1\d/", "-n", "2")
    assert [line["text"][:8] for line in found["lines"]] == ["step 18/", "step 19/"]
    page = console.run("logs", run, "--from", "12", "-n", "2").stdout.splitlines()
    assert [text.split("/")[0] for text in page] == ["step 11", "step 12"]
    assert console.fails("logs", run, "--grep", "(", code=2)
    assert len(console.run("logs", run, "--metrics").stdout.splitlines()) == 30


def test_logs_follow_until_the_end(console: Console) -> None:
    (run,) = console.lab.launch("r", steps=100)
    done = console.run("logs", run, "-n", "200", "--follow")
    assert done.returncode == 0
    steps = [int(found) for found in re.findall(r"step (\d+)/100", done.stdout)]
    assert steps == list(range(1, 101))


def test_a_line_written_between_the_page_and_the_following_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, page_of = tmp_path / "output.log", log_output.last_page
    path.write_text("one\n")

    def page_then_more(*arguments: Any) -> Any:
        page = page_of(*arguments)
        with open(path, "a") as file:
            file.write("two\nthree\n")
        return page

    monkeypatch.setattr(log_output, "last_page", page_then_more)
    query = log_output.LogQuery(10, follow=True)
    shown = [text for _, text in log_output._plain(path, tmp_path, query)]
    assert shown == ["one", "two", "three"]


def has_child(pid: int) -> bool:
    """Whether the process has begun another."""
    parents = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True).stdout
    return str(pid) in parents.split()


def test_a_pathological_pattern_in_logs_can_be_interrupted(console: Console) -> None:
    (run,) = console.lab.launch("r")
    console.lab.until(run, "finished")
    with open(console.lab.folder(run) / "output.log", "a") as file:
        file.write("a" * 10_000 + "\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = console.command("logs", run, "--grep", r"(a+)+$(?<=b)")
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        eventually(lambda: has_child(child.pid))
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
