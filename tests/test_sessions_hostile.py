"""What sessions must withstand, one case each, in the words of the issue."""

import hostile_files as _files
import hostile_processes as _processes
import pytest
from hostile_kit import CASES
from toy_lab import Lab

from sessions.ids import ID

assert _files and _processes, "they fill the table"


NAMES = {
    "names with spaces": "two  words ",
    "names with slashes": "../../a/b\\c",
    "names with [/]": "[b]loss[/]",
    "names with CJK": "実験 一",
    "names with control characters": "a\x1b]0;title\x07\x1b[31mred\nline\x00",
}


@pytest.mark.parametrize("words", NAMES)
def test_withstands_names(words: str, lab: Lab) -> None:
    (run,) = lab.launch(NAMES[words])
    assert ID.match(run) and lab.folder(run).parent == lab.workspace.runs
    lab.until(run, "finished")
    assert lab.listed()[run]["name"] == NAMES[words]
    assert [path for path in lab.workspace.root.parent.iterdir() if path.name == "a"] == []


@pytest.mark.parametrize("words", CASES)
def test_withstands(words: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    CASES[words](lab, monkeypatch)
