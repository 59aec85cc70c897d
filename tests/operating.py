"""The dashboard over a lab whose launches start the toy trainer, for tests of its actions."""

import os
import sys
from pathlib import Path

import pytest
from terminal import Terminal
from test_tui_acting import CONSOLE
from toy_lab import ROOT, Lab

from tui import performing
from tui.place import Place

_REAL = performing.command_line
# as in the dashboard under test, so in a dashboard of its own: children run the toy trainer
DASHBOARD = "import sys; sys.path.insert(0, sys.argv.pop(1)); import operating\n"
DASHBOARD += "operating.use_toys(); from tui.cli import main; main()\n"
WRAPPER = "def transform(records, response_tokens, rewards):\n    return rewards\n"


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
