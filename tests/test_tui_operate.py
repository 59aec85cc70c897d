"""An operator launches a sweep, follows it, stops a run, leaves, comes back, and clones one."""

import re
import signal
from pathlib import Path

import pytest
from operating import WRAPPER, open_dashboard
from terminal import Terminal
from toy_lab import Lab, eventually

from sessions.record import load
from sessions.runfiles import read_object

SIZES = [(80, 24), (160, 50)]
SAVE, FOLLOW = "\x13", "\x0c"
DOWN_TO_WRAPPER = ["down"] * 7
DOWN_TO_SET = ["down"] * 7  # from the wrapper


@pytest.mark.parametrize(("columns", "lines"), SIZES, ids=["80x24", "160x50"])
def test_an_operator_launches_follows_stops_and_comes_back(
    lab: Lab, tmp_path: Path, columns: int, lines: int
) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text(WRAPPER)
    lab.hold()
    with open_dashboard(lab, columns, lines) as terminal:
        terminal.sees("reference")
        terminal.press("n")
        terminal.sees("new run")
        terminal.press("0.1,0.3", "down", "20", "up", *DOWN_TO_WRAPPER, str(wrapper))
        terminal.press(*DOWN_TO_SET, "log_every=1", "down", "sweep")
        terminal.sees("2 runs on", "sweep-kl0.1")
        terminal.press(FOLLOW)
        terminal.sees("step ", "/20")
        first, second = eventually(lambda: (r := sorted(lab.listed())) and len(r) == 2 and r)
        assert (first, second) == ("sweep-kl0.1", "sweep-kl0.3")
        assert (lab.folder(first) / "wrapper.py").read_text() == WRAPPER
        assert {row["kl_coef"] for row in lab.listed().values()} == {0.1, 0.3}

        terminal.press("1", "X")
        terminal.sees("Stop", "y does it")
        terminal.press("y")
        lab.until(first, "stopped")
        terminal.sees("stopped")
        terminal.press("q")
        assert terminal.wait() == 0
    lab.until(second, "running")  # it goes on, or begins, without the dashboard

    with open_dashboard(lab, columns, lines) as terminal:
        terminal.sees(first, second, "stopped", "running")
        terminal.press("/", f"id={first}", "enter", "N")
        terminal.sees("clone of")
        terminal.press("0.7", "down", "3")
        terminal.sees("1 run on")
        terminal.press(SAVE)
        terminal.sees("queued: ")
        cloned = eventually(lambda: [key for key in lab.listed() if key not in (first, second)])[0]
        lab.until(cloned, "queued", "starting", "running", "finished")
        record = load(lab.folder(cloned))
        assert record is not None and record["parent"] == first
        assert (record["config"]["kl_coef"], record["config"]["steps"]) == (0.7, 3)
        assert Path(record["config"]["reward_wrapper"]).read_text() == WRAPPER
        terminal.press("q")
        assert terminal.wait() == 0


TEXT = "-- odd --json"
ENDS = {"q": None, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


@pytest.mark.parametrize("action", ["launch", "stop", "trash", "note"])
@pytest.mark.parametrize("how", ENDS)
def test_a_dashboard_that_ends_in_the_middle_of_an_action(
    lab: Lab, tmp_path: Path, how: str, action: str
) -> None:
    lab.hold(action != "trash")
    (run,) = lab.launch("run", save_every=1)
    lab.until(run, "finished" if action == "trash" else "running")
    with open_dashboard(lab, 100, 24) as terminal:
        terminal.sees(run)
        terminal.press("/", f"id={run}", "enter")
        _begin(terminal, action)
        if ENDS[how] is None:
            terminal.press("\x11" if action == "launch" else "q")  # ctrl+q: the form takes letters
        else:
            terminal.signal(ENDS[how])
        terminal.wait()
    _happened_or_not(lab, run, action)


def _begin(terminal: Terminal, action: str) -> None:
    if action == "launch":
        terminal.press("n")
        terminal.sees("new run")
        terminal.press(*["down"] * 15, "made")
        terminal.sees("1 run on")
        terminal.press(SAVE)
    elif action == "note":
        terminal.press("t")
        terminal.sees("note or tags")
        terminal.press(TEXT, "enter")
    else:
        terminal.press("X" if action == "stop" else "D")
        terminal.sees("y does it")
        terminal.press("y")
    terminal.read(0.05)


def _happened_or_not(lab: Lab, run: str, action: str) -> None:
    """What was begun in a child comes to its end; nothing is left half done."""
    if action == "stop":
        lab.until(run, "stopped", "running")
    elif action == "trash":
        thrown = lab.workspace.trash / "runs" / run
        eventually(lambda: thrown.exists() != lab.folder(run).exists())
    elif action == "note":
        kept = lab.workspace.meta / f"{run}.jsonl"
        assert not kept.exists() or eventually(lambda: read_object(kept, []))["text"] == TEXT
    for folder in lab.workspace.runs.glob("[!.]*"):  # a dot: being made by the child
        assert load(folder) is not None, "every run has a whole record"
    assert run in lab.listed() or action == "trash"


def rings(terminal: Terminal) -> bool:
    """Whether the bell was rung: a BEL that does not end an operating-system command."""
    return b"\x07" in re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", terminal.output)


def test_the_bell_rings_for_an_end_once_it_is_switched_on_and_is_kept(lab: Lab) -> None:
    for on in (False, True):
        with open_dashboard(lab) as terminal:
            terminal.sees("reference")
            if not on:
                _ends(lab, terminal, "quiet")
                assert not rings(terminal)
                terminal.press(":", "bell: on", "enter")
                eventually(lambda: _kept_bell(lab, terminal))
            else:
                _ends(lab, terminal, "loud")
                terminal.until(lambda: rings(terminal))
            terminal.press("q")
            assert terminal.wait() == 0


def _kept_bell(lab: Lab, terminal: Terminal) -> bool:
    """Whether it is on; what the status line says of it gives way to the next note."""
    terminal.read(0.05)
    return (read_object(lab.workspace.view, []) or {}).get("bell") is True


def _ends(lab: Lab, terminal: Terminal, name: str) -> None:
    """A run that the dashboard saw, and then saw end."""
    lab.hold()
    lab.launch(name)
    terminal.sees(f"running  {name}")
    lab.hold(False)
    terminal.sees(f"{name} finished")
