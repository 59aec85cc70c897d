"""A disk that is full to its last byte: what is refused says so, what was kept is kept."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from full_disk import changed, contents, fill, free, small_disk
from operating import CONSOLE, open_dashboard, place_of
from terminal import Terminal
from toy_lab import ROOT, Lab, eventually

from rlhf.runlog import dumps
from sessions import meta, queue
from sessions.identity import alive
from sessions.paths import Workspace, shipped_task
from sessions.supervise import supervisor
from sessions.supervisor import cores
from tui.performing import perform
from tui.pollers import write_text

pytestmark = pytest.mark.xdist_group("full disk")
# no temporary file may lie anywhere else
ONE_DISK = (
    "import os, tempfile; tempfile._candidate_tempdir_list = lambda: [os.environ['TMPDIR']]\n"
)
SAVE = "\x13"
BEGUN = ("starting", "stalled")  # it logs nothing: after a minute it reads stalled
PAGE = 4096  # a file takes whole ones, so the last page of one may have room on a full disk


class Full:
    """A workspace on a full disk: a run that ended, one that lives, one that waits."""

    def __init__(self, lab: Lab, disk: Path) -> None:
        self.lab, self.disk = lab, disk
        self.root = lab.workspace.root

    def run(self, *words: str, task: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """A command over it; caches and temporary files lie on the same disk."""
        place = ["--task", str(task or self.lab.task), "--workspace", str(self.root)]
        command = [sys.executable, "-c", ONE_DISK + CONSOLE, *place, *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.disk / "tmp")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    if cores() < 2:
        pytest.skip("two runs live here at once, each on a core")
    place = tmp_path_factory.mktemp("full")
    with small_disk(place / "disk", 1024) as disk, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
        patch.setenv("TOY_STEP_S", "0")
        lab = Lab(place)
        lab.workspace = Workspace(disk / "workspace")
        try:
            _settle_in(lab, patch)
            (disk / "tmp").mkdir()
            fill(disk)
            yield Full(lab, disk)
        finally:
            lab.end_everything()


def _settle_in(lab: Lab, patch: pytest.MonkeyPatch) -> None:
    lab.launch("ended")
    lab.until("ended", "finished")
    lab.launch("stopped", steps=3)
    lab.until("stopped", "finished")
    eventually(lambda: supervisor(lab.workspace) is None)
    (lab.folder("stopped") / "done.json").write_text('{"outcome": "stopped"}')
    patch.setenv("TOY_STEP_S", "600")
    for run in ("live", "ends"):
        lab.launch(run)
        eventually(lambda r=run: (lab.folder(r) / "run_config.json").exists())  # it only steps now
    queue.pause(lab.workspace, True)
    lab.launch("waits", seed=[0, 1])
    (lab.workspace.submissions / "sub").mkdir(parents=True)
    lab.workspace.meta.mkdir()
    note = dumps({"kind": "note", "text": "", "add": ["kept"]})
    row = note.replace('""', '"' + "x" * (PAGE - 20 - len(note)) + '"') + "\n"
    (lab.workspace.meta / "ended.jsonl").write_text(row)  # the last page has some bytes of room


REFUSED = {
    "launching": ("launch", "--steps", "5"),
    "a sweep": ("launch", "--seeds", "0-3"),
    "cloning": ("clone", "ended"),
    "replaying": ("replay", "ended"),
    "resuming": ("resume", "stopped"),
    "queueing": ("jobs", "move", "waits-seed1", "--to", "1"),
    "a note": ("note", "live", "text"),
    "a note that fits in part": ("note", "ended", "text"),
    "a tag": ("tag", "live", "odd"),
    "a tag that fits in part": ("tag", "ended", "odd"),
    "a decision": ("decide", "live", "hold", "--reason", "odd"),
    "a decision that fits in part": ("decide", "ended", "hold", "--reason", "odd"),
    "grading": ("grade", "--job", "SUBMISSION"),
    "tails": ("tails", "kl05-s800"),
    "samples": ("samples", "kl05-s800"),
    "cancelling": ("stop", "waits-seed0", "--yes"),
    "adding": ("add", "TASK"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_command_says_one_line_and_loses_nothing(full: Full, case: str) -> None:
    before = contents(full.root)
    given = {"SUBMISSION": str(full.root / "submissions" / "sub"), "TASK": str(shipped_task())}
    words = [given.get(word, word) for word in REFUSED[case]]
    done = full.run(*words, task=shipped_task() if words[0] in ("tails", "samples") else None)
    assert done.returncode == 4, done.stdout + done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("rlhf-tui: ")]
    assert done.stdout == "" and len(told) == 1 and "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr and "free some space" in done.stderr
    assert str(full.disk) in done.stderr, "it does not say which disk"
    assert changed(full.root, before) == []
    assert full.lab.state("live").state in BEGUN, "what lives is not disturbed"


def test_a_run_can_be_ended(full: Full) -> None:
    process = full.lab.process("ends")
    done = full.run("stop", "ends", "--yes", "--grace", "1")
    assert done.returncode == 0, done.stderr
    assert not alive(process)
    assert full.lab.state("live").state in BEGUN


def test_what_cannot_be_measured_is_said_by_name(full: Full) -> None:
    done = full.run("runs", "--evaluate", "1", task=shipped_task())
    assert done.returncode == 0 and "kl05-s800" in done.stdout
    assert "not measured: no temporary folder can be made" in done.stderr


def test_what_frees_space_works(full: Full) -> None:
    before = contents(full.root)
    assert full.run("rm", "ended", "--yes").returncode == 0
    assert full.run("restore", "ended").returncode == 0
    assert changed(full.root, before) == []
    assert full.run("doctor").returncode in (0, 1)
    assert full.run("runs", "--evaluate", "0").returncode == 0


def test_nothing_is_half_written_where_the_dashboard_writes(full: Full) -> None:
    path = full.disk / "curves.csv"
    with pytest.raises(OSError, match="No space"):
        write_text(path, "x" * PAGE)
    assert not path.exists()


def test_a_dashboard_over_a_full_disk_says_what_it_cannot_do_and_goes_on(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
        monkeypatch.setenv("TMPDIR", str(disk))
        lab.workspace = Workspace(disk / "workspace")
        lab.launch("run")
        lab.until("run", "finished")
        eventually(lambda: supervisor(lab.workspace) is None)
        with open_dashboard(lab, 120, 30) as terminal:
            terminal.sees("run", "reference")
            terminal.press("/", "id=run", "enter", "home")
            terminal.until(lambda: "reference" not in terminal.text)
            fill(disk)
            before = contents(lab.workspace.root)
            _refused_in_a_dialog(terminal, "t", "odd", "enter")
            _refused_in_a_dialog(terminal, "R")
            terminal.press("d")
            terminal.sees("true quality of anvil")
            terminal.press("h", "odd", "enter")
            terminal.sees("not on record", "No space left", "free some space")
            terminal.press("esc", "esc", "n")
            terminal.sees("1 run on")
            terminal.press(SAVE)
            terminal.sees("wrong: cannot write", "No space left", "free some space")
            terminal.press("esc", "6", "a", "enter")
            terminal.sees("alert when")
            fill(disk)  # what was refused gave back its scratch files
            terminal.press("train.kl>8", "enter")
            terminal.sees("not kept for the next time", "No space left", "free some space")
            assert changed(lab.workspace.root, before) == []
            free(disk)
            terminal.press("1", "t")
            terminal.sees("note or tags")
            terminal.press("odd", "enter")
            terminal.sees("done: note")
            terminal.press("q")
            assert terminal.wait() == 0
        assert [row["text"] for row in meta.read(lab.workspace, "run").of_kind("note")] == ["odd"]


def _refused_in_a_dialog(terminal: Terminal, key: str, *typed: str) -> None:
    terminal.press(key)
    if typed:
        terminal.sees("note or tags")
        terminal.press(*typed)
    terminal.sees("not done", "No space left", "free some space")
    terminal.press("esc")
    terminal.until(lambda: "not done" not in terminal.text)


def test_what_was_done_is_told_though_no_temporary_file_has_room(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        fill(disk)
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        outcome = perform(place_of(lab), ["note", "reference", "odd"])
        assert not outcome.failed and outcome.document["notes"][-1]["text"] == "odd"


def test_pruning_a_full_disk_gives_room_to_go_on(lab: Lab, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        lab.workspace = Workspace(disk / "workspace")
        lab.launch("run")
        lab.until("run", "finished")
        eventually(lambda: supervisor(lab.workspace) is None)
        (disk / "tmp").mkdir()
        full = Full(lab, disk)
        fill(disk)
        assert full.run("note", "reference", "odd").returncode == 4
        assert full.run("rm", "run", "--yes").returncode == 0
        assert full.run("prune", "--yes").returncode == 0
        assert full.run("note", "reference", "odd").returncode == 0
