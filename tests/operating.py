"""The dashboard over a lab whose launches start the toy trainer, for tests of its actions."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal
from toy_lab import ROOT, TRAINER, Lab

from tui import performing
from tui.place import Place

_REAL = performing.command_line
CONSOLE = "import sys; from sessions import launch, replay; from tui import launching\n"
# the toy trainer stands in for the real one, everywhere a default says so
CONSOLE += f"toy = {TRAINER!r}; real = launch.launch\n"
CONSOLE += "launching.launch = lambda *a, **k: real(*a, trainer=toy, validate=False, **k)\n"
CONSOLE += "replay.replay.__defaults__ = (toy,)\n"
CONSOLE += "from tui.cli import main; main()\n"
# as in the dashboard under test, so in a dashboard of its own: children run the toy trainer
DASHBOARD = "import sys; sys.path.insert(0, sys.argv.pop(1)); import operating\n"
DASHBOARD += "operating.use_toys(); from tui.cli import main; main()\n"
WRAPPER = "def transform(records, response_tokens, rewards):\n    return rewards\n"


class Console:
    """The command line over a lab, one command at a time."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def command(self, *words: str) -> list[str]:
        place = ["--task", str(self.lab.task), "--workspace", str(self.lab.workspace.root)]
        return [sys.executable, "-c", CONSOLE, *place, *words]

    def run(self, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
        return subprocess.run(
            self.command(*words), env=env, text=True, capture_output=True, timeout=60,
            stdin=subprocess.DEVNULL, **options,
        )  # fmt: skip

    def json(self, *words: str, code: int = 0) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == code, done.stderr + done.stdout
        assert done.stdout.count("\n") == 1, "more than one document"
        document = json.loads(done.stdout)
        assert document["format"] == 1
        return document

    def fails(self, *words: str, code: int) -> str:
        """The message of a failure, told as text and as JSON with the same exit code."""
        text = self.run(*words)
        assert text.returncode == code and text.stdout == ""
        assert text.stderr.count("\n") == 1, text.stderr
        message = self.json(*words, code=code)["error"]["message"]
        assert message in text.stderr
        return str(message)


def use_toys() -> None:
    """Let the commands that the dashboard starts launch the toy trainer."""
    performing.command_line = lambda place, words: [
        *(sys.executable, "-c", CONSOLE),
        *_REAL(place, words)[4:],
    ]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in this process, until the test ends."""
    monkeypatch.setattr(performing, "command_line", performing.command_line)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    use_toys()


def place_of(lab: Lab, read_only: bool = False) -> Place:
    return Place(lab.workspace.root, lab.task, (), read_only)


def open_dashboard(lab: Lab, columns: int = 80, lines: int = 24, *words: str) -> Terminal:
    """The dashboard over the lab, in a pty."""
    place = ["--task", str(lab.task), "--workspace", str(lab.workspace.root)]
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", DASHBOARD, here, *place, *words]
    settings = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    settings.pop("COLUMNS", None)
    settings.pop("LINES", None)
    return Terminal(command, settings, columns, lines)
