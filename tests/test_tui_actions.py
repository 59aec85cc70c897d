"""Actions on several runs at once: what can be done is done, and each refusal is told."""

import signal
from pathlib import Path
from typing import Any

import pytest
from operating import Console, open_dashboard, place_of, toys  # noqa: F401
from piloting import ready, screen_text, until
from terminal import Terminal
from toy_lab import Lab, eventually

from sessions.record import load
from sessions.trash import thrown_away
from tui.app import ConsoleApp


@pytest.fixture
def console(lab: Lab) -> Console:
    return Console(lab)


def ended(lab: Lab, *names: str) -> None:
    """Runs that finished."""
    for name in names:
        lab.launch(name, steps=2)
    for name in names:
        lab.until(name, "finished")


def running(lab: Lab, name: str) -> None:
    lab.hold()
    lab.launch(name, save_every=1)
    lab.until(name, "running")


MIXED = {
    "stop": ("stopped", "live"),
    "rm": ("trashed", "done"),
}


@pytest.mark.parametrize("verb", MIXED)
def test_of_mixed_marks_what_can_be_done_is_done(verb: str, lab: Lab, console: Console) -> None:
    key, able = MIXED[verb]
    ended(lab, "done")
    running(lab, "live")
    found = console.json(verb, "done", "live", "nobody", "--yes", code=1)
    assert [one["id"] if verb == "stop" else one for one in found[key]] == [able]
    refused = {one["id"]: one["message"] for one in found["refused"]}
    assert set(refused) == {"done", "live", "nobody"} - {able}
    assert all(name in message for name, message in refused.items())


def test_prune_says_what_it_costs_and_what_it_leaves(lab: Lab, console: Console) -> None:
    lab.launch("r", steps=4, save_every=2)
    lab.until("r", "finished")
    costs, leaves = (
        "made again when they are wanted",
        "of checkpoints of finished runs stay: --check",
    )
    assert costs not in console.run("prune", "--dry-run").stdout
    (lab.workspace.cache / "eval").mkdir(parents=True)
    for words in (("--dry-run",), ("--yes",)):
        told = console.run("prune", *words).stdout
        assert costs in told and leaves in told
    assert leaves not in console.run("prune", "--yes", "--checkpoints").stdout


def test_a_refusal_is_named_on_stderr_and_the_rest_on_stdout(lab: Lab, console: Console) -> None:
    ended(lab, "a", "b")
    done = console.run("rm", "a", "nobody", "b", "--yes")
    assert (done.returncode, done.stdout) == (1, "a\nb\n")
    assert done.stderr.count("\n") == 1 and "nobody refused" in done.stderr
    found = console.json("restore", "a", "nobody", code=1)
    assert (found["restored"], found["trash"]) == (["a"], ["b"])
    assert [one["id"] for one in found["refused"]] == ["nobody"]


def test_resume_goes_on_with_those_that_ended_early(lab: Lab, console: Console) -> None:
    ended(lab, "done")
    running(lab, "early")
    assert console.json("stop", "early", "--yes")["refused"] == []
    found = console.json("resume", "done", "early", code=1)
    assert found["runs"] == ["early"] and [one["id"] for one in found["refused"]] == ["done"]


def test_when_nothing_is_done_the_first_refusal_s_code_is_the_answer(
    lab: Lab, console: Console
) -> None:
    ended(lab, "a", "b")
    message = console.fails("stop", "a", "b", "--yes", code=2)
    assert "a does not run" in message and "b does not run" in message


async def test_a_run_that_vanishes_between_key_and_action(lab: Lab, toys: None) -> None:  # noqa: F811
    ended(lab, "gone", "kept")
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        app.state.toggle_marks(["gone", "kept"])
        await pilot.press("D")
        lab.folder("gone").rename(lab.workspace.root / "elsewhere")
        await pilot.press("y")
        await until(pilot, lambda: "done, but not all" in screen_text(app))
        await until(pilot, lambda: "gone" in screen_text(app))
    assert list(thrown_away(lab.workspace)) == ["kept"]


def chosen(terminal: Terminal, run: str) -> None:
    """The cursor on one run."""
    terminal.sees("reference")
    terminal.press("/", f"id={run}", "enter")


def test_two_dashboards_act_on_one_run(lab: Lab) -> None:
    ended(lab, "run")
    with open_dashboard(lab, 100, 24) as one, open_dashboard(lab, 100, 24) as other:
        for terminal in (one, other):
            chosen(terminal, "run")
            terminal.press("D")
            terminal.sees("y does it")
        one.press("y")
        other.press("y")
        eventually(lambda: list(thrown_away(lab.workspace)) == ["run"])
        for terminal in (one, other):
            terminal.press("\x11")  # ctrl+q leaves from anywhere, a dialog too
            assert terminal.wait() == 0
    assert not lab.folder("run").exists()


@pytest.mark.parametrize("action", ["resume", "replay", "restore", "note"])
@pytest.mark.parametrize("how", ["q", "SIGKILL"])
def test_a_dashboard_that_ends_while_it_acts_on_marked_runs(
    lab: Lab, console: Console, how: str, action: str
) -> None:
    runs = ["m-a", "m-b"]
    _prepare(lab, console, runs, action)
    with open_dashboard(lab, 100, 24) as terminal:
        terminal.sees("reference" if action == "restore" else "m-b")
        if action != "restore":
            terminal.press("/", "name~^m-", "enter", "home", "space", "space")
        _act(terminal, action)
        if how == "q":
            terminal.press("q")
        else:
            terminal.signal(signal.SIGKILL)
        terminal.wait()
    _consistent(lab, runs)


def _prepare(lab: Lab, console: Console, runs: list[str], action: str) -> None:
    if action == "resume":
        lab.hold()
        for run in runs:
            lab.launch(run, steps=2)
        lab.until(runs[0], "running")
        console.json("stop", *runs, "--yes")
    else:
        ended(lab, *runs)
    if action == "restore":
        console.json("rm", *runs, "--yes")


def _act(terminal: Terminal, action: str) -> None:
    terminal.press({"resume": "r", "replay": "R", "restore": "U", "note": "t"}[action])
    if action == "restore":
        terminal.sees("bring back")
        terminal.press("enter")
    if action == "note":
        terminal.sees("note or tags")
        terminal.press("odd", "enter")
    terminal.read(0.05)


def _consistent(lab: Lab, runs: list[str]) -> None:
    """Each run is in one place, with a whole record; what was begun comes to an end."""
    for run in runs:
        thrown = lab.workspace.trash / "runs" / run
        eventually(lambda t=thrown, r=run: t.exists() != lab.folder(r).exists())
    for folder in lab.workspace.runs.glob("[!.]*"):  # a dot: being made by the child
        record: Any = eventually(lambda f=folder: load(f))
        assert record["config"]["steps"] == 2
    assert lab.listed().keys() <= {path.name for path in lab.workspace.runs.iterdir()}


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Every file of a folder, with its size and time."""
    stats = {str(path): path.stat() for path in root.rglob("*") if path.is_file()}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


ACTION_KEYS = {"1": "nNtrRUXD", "2": "nNtrRUXD", "6": "pJKX"}


async def test_read_only_refuses_every_action_key_and_nothing_is_written(lab: Lab) -> None:
    ended(lab, "run")
    eventually(
        lambda: (load(lab.folder("run")) or {}).get("exit")
    )  # the supervisor is done with it
    before = tree(lab.workspace.runs)
    app = ConsoleApp(place_of(lab, read_only=True), "dark")
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        for pane, keys in ACTION_KEYS.items():
            await pilot.press(pane)
            for key in keys if pane != "6" or app.state.watch.jobs else "p":
                app.say("")
                await pilot.press(key)
                await until(pilot, lambda: "--read-only" in screen_text(app).splitlines()[-1])
                assert len(app.screen_stack) == 1
    assert tree(lab.workspace.runs) == before and not lab.workspace.meta.exists()
    assert not lab.workspace.trash.exists()
