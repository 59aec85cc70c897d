"""Two dashboards over one workspace: nothing lost, nothing started twice, both tell the truth."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from operating import open_dashboard
from terminal import Terminal
from toy_lab import Lab, eventually

from sessions import meta, queue
from sessions.supervise import supervisor
from sessions.supervisor import cores
from tui.preferences import Preferences, Wanted
from tui.state import State

SAVE, FOLLOW = "\x13", "\x0c"
DOWN_TO_NAME = ["down"] * 15
Pair = tuple[Terminal, Terminal]


@contextmanager
def pair(lab: Lab, *names: str) -> Iterator[Pair]:
    """Two dashboards that show the runs of these names."""
    with open_dashboard(lab, 120, 24) as one, open_dashboard(lab, 120, 24) as other:
        for terminal in (one, other):
            terminal.sees("reference", *names)
        yield one, other


def both(terminals: Pair, *keys: str) -> None:
    """The same keys in both, as near together as can be."""
    for terminal in terminals:
        terminal.press(*keys)


def see(terminals: Pair, *texts: str) -> None:
    for terminal in terminals:
        terminal.sees(*texts)


def lose(terminals: Pair, text: str) -> None:
    for terminal in terminals:
        terminal.until(lambda t=terminal: text not in t.text)  # type: ignore[misc]


def choose(terminals: Pair, run: str) -> None:
    """Put the cursor on a run."""
    both(terminals, "/", f"id={run}", "enter", "home")
    lose(terminals, "reference")


def test_both_launch_the_same_at_once(lab: Lab) -> None:
    with pair(lab) as terminals:
        both(terminals, "n")
        see(terminals, "new run")
        both(terminals, "0.1", "down", "5", *["down"] * 14, "same")
        see(terminals, "1 run on")
        both(terminals, SAVE)
        eventually(lambda: len(lab.listed()) == 2)
        for run in ("same", "same-2"):
            lab.until(run, "finished")
            assert len(lab.starts(run)) == 1
        assert sorted(lab.listed()) == ["same", "same-2"]
        for terminal in terminals:
            terminal.until(lambda t=terminal: t.text.count("finished same") == 2)  # type: ignore[misc]


def test_both_reorder_and_pause_the_line(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    runs = lab.launch("w", seed=list(range(6)), steps=3)
    with pair(lab, *runs) as terminals:
        one, other = terminals
        both(terminals, "6")
        see(terminals, "PAUSED", *runs)
        one.press("J", "J", "J")
        other.press("end", *["down"] * 5, "K", "K", "K")
        for terminal in terminals:
            terminal.until(lambda: _line(lab) != runs)
            terminal.settle(1.5)
        assert sorted(_line(lab)) == runs
        for terminal in terminals:
            terminal.until(lambda t=terminal: _shown(t) == _line(lab))  # type: ignore[misc]
        both(terminals, "p")
        for run in runs:
            lab.until(run, "finished")
            assert len(lab.starts(run)) == 1
        see(terminals, "Nothing runs and nothing waits")


def _line(lab: Lab) -> list[str]:
    return [entry.id for entry in queue.entries(lab.workspace)]


def _shown(terminal: Terminal) -> list[str]:
    words = [line.split() for line in terminal.screen.display]
    return [word for line in words for word in line[:3] if word.startswith("w-seed")]


@pytest.mark.parametrize("where", ["curves", "logs", "tails", "decide"])
def test_one_trashes_what_the_other_has_open(lab: Lab, where: str) -> None:
    lab.launch("run", steps=3)
    lab.until("run", "finished")
    eventually(lambda: supervisor(lab.workspace) is None)
    with pair(lab, "run") as terminals:
        one, other = terminals
        choose(terminals, "run")
        keys = {"curves": ["enter"], "logs": ["enter", "4"], "tails": ["enter", "3"]}
        keys["decide"] = ["d"]
        other.press(*keys[where])
        there = {"curves": "at step", "logs": "step 3/3", "tails": "No scores"}
        there["decide"] = "true quality of anvil"
        other.sees(there[where])
        one.press("D")
        one.sees("Move this run to the trash")
        one.press("y")
        one.sees("done: rm")
        if where == "decide":
            other.press("h", "odd", "enter")
        gone = {"logs": "the file is gone", "decide": "not on record"}
        other.sees(gone.get(where, "No run is open"))
        other.press("esc", "esc", "esc", "1", "U")
        other.sees("bring back from the trash", "run")
        other.press("enter")
        see(terminals, "finished run")
    assert (lab.folder("run") / "policy.safetensors").exists()
    assert not meta.read(lab.workspace, "run").rows, "decided on what was not there"


def test_both_decide_on_one_run(lab: Lab) -> None:
    lab.launch("run", steps=3)
    lab.until("run", "finished")
    eventually(lambda: supervisor(lab.workspace) is None)
    with pair(lab, "run") as terminals:
        choose(terminals, "run")
        both(terminals, "d")
        see(terminals, "true quality of anvil")
        for terminal, key in zip(terminals, "hs", strict=True):
            terminal.press(key, f"because {key}")
        see(terminals, "because ")
        both(terminals, "enter")
        (made,) = eventually(lambda: _decisions(lab))
        told = ("meanwhile", "or the decisions on it")
        eventually(lambda: any(_says(terminal, *told) for terminal in terminals))
        assert _decisions(lab) == [made], "the second was not told of the first"
        both(terminals, "esc", "esc")
        see(terminals, f" {made[0]}")


def _says(terminal: Terminal, *texts: str) -> bool:
    terminal.read(0.05)
    return any(text in terminal.text for text in texts)


def _decisions(lab: Lab) -> list[tuple[str, str]]:
    rows = meta.read(lab.workspace, "run").of_kind("decision")
    return [(row["decision"], row["reason"]) for row in rows]


@pytest.mark.parametrize("how", ["quits", "is killed and the supervisor too"])
def test_one_ends_while_its_run_waits(lab: Lab, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who starts it: the supervisor; if that is gone, one that the other dashboard sends for."""
    lab.hold()
    running = lab.launch("first", seed=list(range(cores())))
    for run in running:
        lab.until(run, "running")
    with pair(lab, *running) as (one, other):
        one.press("n")
        one.sees("new run")
        one.press(*DOWN_TO_NAME, "waits")
        one.sees("1 run on")
        one.press(SAVE)
        one.sees("queued: waits")
        one.press("q") if how == "quits" else one.signal(signal.SIGKILL)
        one.wait()
        if "supervisor" in how:
            boss = supervisor(lab.workspace)
            assert boss is not None
            os.kill(boss.pid, signal.SIGKILL)
        assert lab.state("waits").state == "queued"
        other.press("/", f"id={running[0]}", "enter", "home", "X")
        other.sees("y does it")
        other.press("y")
        other.press("esc")
        lab.until("waits", "running")
        other.until(lambda: "queued" not in other.line("waits"))
        assert len(lab.starts("waits")) == 1
        assert all(len(lab.starts(run)) == 1 for run in running)


def test_a_read_only_dashboard_starts_nothing(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    lab.launch("run")
    (lab.workspace.queue / "paused").unlink()
    with open_dashboard(lab, 80, 24, "--read-only") as terminal:
        terminal.press("6")
        terminal.sees("queued")
        terminal.settle(1.5)
    assert supervisor(lab.workspace) is None and lab.state("run").state == "queued"


@pytest.mark.parametrize(
    ("before", "there", "ours", "kept"),
    [
        ([], ["a"], ["b"], ["a", "b"]),
        (["a"], ["a", "b"], [], ["b"]),
        (["a", "b"], ["b"], ["a", "b"], ["b"]),
        (["a"], ["a"], ["a", "b"], ["a", "b"]),
    ],
    ids=["each adds one", "one removes", "the other removed one", "nothing happened there"],
)
def test_alert_rules_of_two_dashboards_are_both_kept(
    tmp_path: Path, before: list[str], there: list[str], ours: list[str], kept: list[str]
) -> None:
    view = tmp_path / "view.json"
    here, other = Preferences(view), Preferences(view)
    assert here.save(Wanted([], alerts=before)) == ""
    other.load(State())
    assert other.save(Wanted([], alerts=there)) == ""
    assert here.save(Wanted([], alerts=ours)) == ""
    assert json.loads(view.read_text())["alerts"] == kept
