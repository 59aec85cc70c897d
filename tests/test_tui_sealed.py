"""A workspace that cannot be written: each command says so in one line, and all is still shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from full_disk import sealed
from operating import Console, open_dashboard
from toy_lab import Lab, eventually

from sessions import queue
from sessions.paths import Workspace
from sessions.stop import stop
from sessions.supervise import supervisor
from sessions.supervisor import cores
from sessions.trash import discard

pytestmark = pytest.mark.xdist_group("sealed")
CHANGES = {
    "launch": ("launch", "--steps", "5"),
    "clone": ("clone", "ended", "--kl", "0.3"),
    "replay": ("replay", "ended"),
    "stop": ("stop", "waits", "--yes"),
    "resume": ("resume", "ended-early"),
    "jobs move": ("jobs", "move", "waits", "--to", "1"),
    "jobs pause": ("jobs", "pause"),
    "jobs go": ("jobs", "go"),
    "rm": ("rm", "ended", "--yes"),
    "restore": ("restore", "thrown-away"),
    "prune": ("prune", "--yes"),
    "note": ("note", "ended", "a word"),
    "tag": ("tag", "ended", "+a"),
    "decide": ("decide", "ended", "hold", "--reason", "a word"),
    "grade --job": ("grade", "--job", "."),
}
LOOKS = {
    "runs": ("runs", "--evaluate", "0"),
    "show": ("show", "ended"),
    "compare": ("compare", "ended", "ended-early"),
    "logs": ("logs", "ended"),
    "jobs": ("jobs",),
    "wait": ("wait", "ended"),
    "decide": ("decide", "ended"),
    "launch --dry-run": ("launch", "--dry-run"),
}


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose workspace has runs of every kind, and can only be read."""
    place = tmp_path_factory.mktemp("shut")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        patch.setenv("TOY_STEP_S", "0.01")
        lab = Lab(place)
        _settle_in(lab)
        with sealed(lab.workspace.root) as root:
            lab.workspace = Workspace(root)
            yield lab


def _settle_in(lab: Lab) -> None:
    for name, steps in (("ended", 2), ("thrown away", 2), ("ended early", 6000)):
        lab.launch(name, steps=steps, save_every=1)
    for run in ("ended", "thrown-away"):
        lab.until(run, "finished")
    lab.until("ended-early", "running")
    stop(lab.workspace, lab.folder("ended-early"))
    eventually(lambda: supervisor(lab.workspace) is None)
    discard(lab.workspace, lab.folder("thrown-away"))
    queue.pause(lab.workspace, True)
    lab.launch("waits")


@pytest.mark.parametrize("case", CHANGES)
def test_what_would_change_something_says_why_it_cannot(case: str, shut: Lab) -> None:
    said = Console(shut).fails(*CHANGES[case], code=4)
    assert str(shut.workspace.root) in said and "Read-only file system" in said


@pytest.mark.parametrize("case", LOOKS)
def test_what_only_looks_goes_on(case: str, shut: Lab) -> None:
    assert Console(shut).json(*LOOKS[case])


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
def test_the_dashboard_shows_the_runs_and_says_what_cannot_be_done(
    size: tuple[int, int], shut: Lab
) -> None:
    with open_dashboard(shut, *size) as terminal:
        terminal.sees("ended early", "stopped", "waits")
        terminal.press("/", 'name="ended early"', "enter")
        terminal.sees("row 1 of 1,")
        terminal.press("r")
        terminal.sees("not done", "Read-only file system")
        terminal.press("esc", "6")
        terminal.sees("waits")
        terminal.press("q")
        assert terminal.wait() == 0


def test_runs_of_somebody_else_are_waited_for(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_STEP_S", "600")
    lab.launch("theirs", seed=list(range(cores() + 1)))
    lab.until("theirs-seed0", "running", "starting")
    with sealed(lab.workspace.root) as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lab, "workspace", Workspace(root))
        done = Console(lab).run("wait", "theirs-seed0", "--timeout", "1")
    assert done.returncode == 1 and "still not ended" in done.stderr


def test_a_file_in_the_place_of_a_workspace_is_named(lab: Lab, tmp_path: Path) -> None:
    lab.workspace = Workspace(tmp_path / "a-file")
    lab.workspace.root.write_text("")
    console = Console(lab)
    assert console.json("runs", "--evaluate", "0")
    for words in (CHANGES["launch"], CHANGES["jobs pause"], CHANGES["grade --job"]):
        error = console.json(*words, code=4)["error"]
        assert str(lab.workspace.root) in error["message"] and "a file is where" in error["fix"]
