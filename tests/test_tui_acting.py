"""The commands that act on runs: exit codes, one JSON document each, and what they do."""

import json
import re
from pathlib import Path

import pytest
from operating import WRAPPER, Console
from toy_lab import Lab, eventually

from sessions import queue


@pytest.fixture
def console(lab: Lab) -> Console:
    return Console(lab)


FAST = ("--steps", "5", "--set", "log_every=1")


def test_launch_prints_ids_and_wait_tells_the_end(console: Console) -> None:
    done = console.run("launch", *FAST, "--kl", "0.1,0.2", "--seeds", "0-1", "--name", "A b")
    ids = done.stdout.split()
    assert ids == ["a-b-kl0.1-seed0", "a-b-kl0.1-seed1", "a-b-kl0.2-seed0", "a-b-kl0.2-seed1"]
    found = console.json("wait", *ids)
    assert [run["state"] for run in found["runs"]] == ["finished"] * 4
    listed = console.json("runs", "--evaluate", "0", "--filter", "source=workspace")["runs"]
    assert {run["sweep"] for run in listed} != {None} and len({r["sweep"] for r in listed}) == 1


def test_runs_have_a_column_of_wrappers_where_there_is_one(
    console: Console, tmp_path: Path
) -> None:
    (tmp_path / "clip.py").write_text(WRAPPER)
    listed = ("runs", "--evaluate", "0")
    assert "wrapper" not in console.run(*listed).stdout
    console.run("jobs", "pause")
    console.run("launch", *FAST, "--wrapper", str(tmp_path / "clip.py"))
    head, *rows = console.run(*listed).stdout.splitlines()
    assert head.endswith("wrapper")
    assert [row.split()[0] for row in rows if row.endswith(" clip.py")] == ["kl0.1-s5-clip"]


def test_launch_wait_and_follow(console: Console) -> None:
    done = console.run("launch", *FAST, "--follow", "--name", "x")
    assert (done.returncode, done.stdout) == (0, "x\n")
    assert "step 5/5" in done.stderr and "x: finished" in done.stderr
    found = console.json("launch", *FAST, "--wait", "--name", "x")
    assert found["runs"] == [{"id": "x-2", "state": "finished", "reason": None}]


def test_dry_run_starts_nothing(console: Console) -> None:
    found = console.json("launch", "--dry-run", "--kl", "0.1,0.2")
    assert [run["config"]["kl_coef"] for run in found["runs"]] == [0.1, 0.2]
    assert found["cores"] >= 1 and found["seconds"] is None
    assert not console.lab.workspace.root.exists()
    console.json("launch", *FAST, "--wait")
    found = console.json("launch", "--dry-run", "--steps", "1000")
    assert found["seconds"] > 0


BAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "an unknown setting": (("launch", "--set", "kl_coeff=1"), 2, "kl_coef"),
    "a word for a number": (("launch", "--kl", "low"), 2, "--kl"),
    "a number for a path": (("launch", "--set", "policy_init=5"), 2, "policy_init must be a path"),
    "a list for a path": (("launch", "--set", 'policy_init=["x"]'), 2, "must be a path"),
    "a value too deep": (("launch", "--set", "kl_coef=" + "[" * 9999), 2, "must be a number"),
    "a negative number": (("launch", "--kl", "-1"), 2, "kl_coef"),
    "an unknown family": (("launch", "--families", "anvill"), 2, "anvil"),
    "a weight that is none": (("launch", "--weights", "dune=x"), 2, "dune=x"),
    "weights and families": (("launch", "--weights", "dune=0", "--families", "dune"), 2, "one"),
    "a range backwards": (("launch", "--seeds", "3-1"), 2, "3-1"),
    "a range too long": (("launch", "--seeds", "0-999999"), 2, "more than 1000 seeds"),
    "a missing wrapper": (("launch", "--wrapper", "/nowhere.py"), 3, "/nowhere.py"),
    "a device for a wrapper": (("wrapper", "check", "/dev/zero"), 3, "no regular file"),
    "a wrapper to check that is not there": (("wrapper", "check", "/nowhere.py"), 3, "is missing"),
    "an unknown run": (("stop", "nobody", "--yes"), 2, "nobody"),
    "stop without a terminal": (("stop", "reference"), 2, "--yes"),
    "rm without a terminal": (("rm", "reference"), 2, "--yes"),
    "rm of a shipped run": (("rm", "reference", "--yes"), 2, "not in this workspace"),
    "stop of a shipped run": (("stop", "reference", "--yes"), 2, "not started from here"),
    "resume of a shipped run": (("resume", "reference"), 2, "not started from here"),
    "clone of what has no config": (("clone", "reference"), 3, "run_config.json"),
    "a note without text": (("note", "reference", " "), 2, "text"),
    "a bad pattern": (("logs", "reference", "--grep", "("), 1, "nothing yet"),
    "add of no folder": (("add", "/nowhere"), 2, "/nowhere"),
    "an unknown id to restore": (("restore", "nobody"), 2, "trash"),
    "move of what does not wait": (("jobs", "move", "reference"), 2, "not in the queue"),
}


@pytest.mark.parametrize("case", BAD)
def test_failures_are_one_line_or_one_document(case: str, console: Console) -> None:
    words, code, part = BAD[case]
    assert part in console.fails(*words, code=code)


def test_a_run_without_a_policy_is_told_what_to_do_before_anything_is_measured(
    console: Console,
) -> None:
    console.run("jobs", "pause")
    (run,) = console.run("launch", *FAST, "--name", "early").stdout.split()
    told = {"queued": "wait", "stopped": "resume"}
    for state, command in told.items():
        said = f"{run} is {state} and has no policy yet: rlhf-tui {command} {run}"
        for words in (("samples", run), ("tails", run), ("frontier", run)):
            assert console.fails(*words, code=1) == said
        missing = console.json("decide", run)["evidence"]["missing"]
        tails = [one["why"] for one in missing if one["input"] == "tails of the raw scores"]
        assert tails == [said.removeprefix(run).replace(" is", "it is", 1)]
        console.run("stop", run, "--yes")


@pytest.mark.parametrize(
    "words",
    [
        ("launch",), ("clone", "reference"), ("stop", "x", "--yes"), ("resume", "x"),
        ("replay", "x"), ("rm", "x", "--yes"), ("restore", "--all"), ("note", "x", "y"),
        ("tag", "x", "y"), ("add", "/tmp"), ("prune", "--yes"), ("jobs", "pause"), ("jobs", "go"),
        ("jobs", "move", "x"),
    ],
)  # fmt: skip
def test_read_only_refuses_every_change(words: tuple[str, ...], console: Console) -> None:
    assert "--read-only" in console.fails("--read-only", *words, code=2)
    assert not console.lab.workspace.root.exists()


def test_stop_resume_rm_restore(console: Console) -> None:
    console.lab.hold()
    (run,) = console.lab.launch("r", save_every=1)
    console.lab.until(run, "running")
    stopped = console.json("stop", run, "--yes")["stopped"]
    assert [(one["id"], one["how"]) for one in stopped] == [(run, "ended")]
    assert console.run("wait", run).returncode == 1, "stopped is not finished"
    console.lab.hold(False)
    assert console.json("resume", run)["runs"] == [run]
    assert console.run("wait", run).returncode == 0
    assert console.json("rm", run, "--yes")["trashed"] == [run]
    assert console.json("restore")["trash"] == [run]
    assert console.json("restore", run) == {
        "format": 1,
        "restored": [run],
        "trash": [],
        "refused": [],
    }
    assert console.json("prune", "--yes")["freed"] >= 0


def test_clone_and_replay(console: Console) -> None:
    (run,) = console.lab.launch("base", seed=5, steps=10)
    console.lab.until(run, "finished")
    cloned = console.run("clone", run, "--kl", "0.7", "--wait")
    assert cloned.stdout == "base-kl0.7\n" and cloned.returncode == 0
    listed = console.json("runs", "--evaluate", "0", "--filter", "name=base-kl0.7")["runs"]
    assert [(r["parent"], r["seed"], r["kl_coef"]) for r in listed] == [(run, 5, 0.7)]
    replayed = console.run("replay", run, "--json")
    assert re.match(r"base-replay: 10 steps, about \d+ s.*; --no-wait does not", replayed.stderr)
    same = json.loads(replayed.stdout)
    assert same["same"] is True and same["of"] == run
    (console.lab.folder(run) / "policy.safetensors").write_text("touched")
    different = console.json("replay", run, code=1)
    assert different["differs"] == ["policy.safetensors"]


def test_notes_tags_and_their_place_in_runs(console: Console) -> None:
    console.json("note", "reference", "looks", "odd")
    assert console.json("tag", "reference", "a", "b")["tags"] == ["a", "b"]
    assert console.json("tag", "reference", "a", "--remove")["tags"] == ["b"]
    (listed,) = console.json("runs", "--evaluate", "0", "--filter", "id=reference")["runs"]
    assert listed["tags"] == ["b"]


def test_what_is_no_utf8_is_a_question_mark_in_every_document(console: Console) -> None:
    (run,) = console.lab.launch("r", steps=1)
    console.lab.until(run, "finished")
    folder = console.lab.folder(run)
    other = folder.rename(folder.with_name("na\udcffme"))
    console.lab.workspace.meta.mkdir(exist_ok=True)
    for words in (
        ("note", other.name, "no\udcffte"), ("tag", other.name, "t\udcffg"), ("show", other.name),
        ("compare", other.name, "reference"), ("runs", "--evaluate", "0"), ("logs", other.name),
        ("decide", other.name, "hold", "--reason", "why\udcff"), ("wait", other.name),
    ):  # fmt: skip
        done = console.run(*words, "--json")
        assert done.returncode == 0 and "?" in done.stdout and "\\ud" not in done.stdout, done
    done = console.run("add", "/no/\udcff", "--json")
    assert json.loads(done.stdout)["error"]["path"] == "/no/?"


def test_jobs_pause_move_go(console: Console) -> None:
    console.json("jobs", "pause")
    runs = console.run("launch", *FAST, "--seeds", "0-2", "--name", "q").stdout.split()
    found = console.json("jobs")
    assert found["paused"] is True
    assert [(job["id"], job["place"]) for job in found["jobs"]] == [
        (run, place) for place, run in enumerate(runs, 1)
    ]
    console.json("jobs", "move", runs[2], "--to", "1")
    assert [job["id"] for job in console.json("jobs")["jobs"]] == [runs[2], runs[0], runs[1]]
    assert "paused" in console.run("jobs").stdout
    console.json("jobs", "go")
    assert console.run("wait", *runs).returncode == 0
    eventually(lambda: not queue.entries(console.lab.workspace))
    assert console.json("jobs") == {"format": 1, "paused": False, "jobs": []}


def test_what_is_queued_into_a_paused_line_says_so(console: Console, tmp_path: Path) -> None:
    said = "the line is paused, so nothing starts: rlhf-tui jobs go lets it go on\n"
    (run,) = console.lab.launch("r", steps=3)
    console.lab.until(run, "finished")
    assert said not in console.run("launch", *FAST, "--wait").stderr
    console.run("jobs", "pause")
    grading = ("grade", "--job", str(tmp_path))
    for words in (("launch", *FAST), ("clone", run), ("replay", run, "--no-wait"), grading):
        done = console.run(*words)
        assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, said)
    console.run("stop", "r-2", "--yes")
    assert console.run("resume", "r-2").stderr == said
    waited = console.run("wait", run, "r-2", "--timeout", "0").stderr
    assert waited.startswith("waiting for r-2 (queued); Ctrl-C ends the waiting alone\n" + said)
    assert "waiting" not in console.run("wait", run).stderr


def test_doctor_says_what_is_there(console: Console, tmp_path: Path) -> None:
    done = console.run("doctor", "--json")
    findings = {item["topic"]: item for item in json.loads(done.stdout)["findings"]}
    assert {"python", "torch", "cores", "workspace", "disk", "task", "isolation"} <= set(findings)
    assert findings["workspace"]["level"] == "ok" and findings["terminal"]["level"] == "warn"
    assert findings["isolation"]["text"]
    (console.lab.task / "policy" / "config.json").unlink()
    broken = console.run("doctor")
    assert broken.returncode == 1 and re.search(r"^bad +task .*config.json", broken.stdout, re.M)


def test_doctor_says_that_the_dashboard_draws_in_ascii(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert re.search(r"^warn +encoding +drawn in ASCII", console.run("doctor").stdout, re.M)
    monkeypatch.setenv("RLHF_TUI_LOOK", "dark")
    assert "drawn in ASCII" not in console.run("doctor").stdout


def test_control_characters_in_names_stay_out_of_the_terminal(console: Console) -> None:
    name = "a\x1b]0;title\x07b\x1b[31m"
    done = console.run("launch", *FAST, "--dry-run", "--name", name)
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout
