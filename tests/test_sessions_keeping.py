"""Trash, disk, jobs, waiting, and runs trained elsewhere."""

import json
import os
from pathlib import Path

import pytest
from toy_lab import Lab, eventually

from rlhf.runlog import write_json
from sessions import queue, trash
from sessions.added import add, folders, forget
from sessions.disk import removable, remove, usage
from sessions.errors import UsageError
from sessions.progress import Pace, expected_seconds, jobs, pace, steps_per_second, sweep_seconds
from sessions.states import State
from sessions.stop import stop
from sessions.wait import wait


def begun(lab: Lab) -> str:
    lab.hold()
    (run,) = lab.launch("r", steps=20, save_every=10)
    lab.until(run, "running")
    return run


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.name.startswith("."))


def test_trash_and_back(lab: Lab) -> None:
    run = begun(lab)
    with pytest.raises(UsageError, match="is running"):
        trash.discard(lab.workspace, lab.folder(run))
    stop(lab.workspace, lab.folder(run))
    before = contents(lab.folder(run))
    trash.discard(lab.workspace, lab.folder(run))
    assert run not in lab.listed() and list(trash.thrown_away(lab.workspace)) == [run]
    queue.pause(lab.workspace, True)
    assert lab.launch("r") == [f"{run}-2"], "an id in the trash was given again"
    trash.restore(lab.workspace, run)
    assert contents(lab.folder(run)) == before
    assert lab.state(run).state == "stopped"
    with pytest.raises(UsageError, match="not in the trash"):
        trash.restore(lab.workspace, run)
    with pytest.raises(UsageError, match="not in this workspace"):
        trash.discard(lab.workspace, lab.task / "policy")


def test_prune_gives_back_what_nobody_needs(lab: Lab) -> None:
    (done,) = lab.launch("p", save_every=1)
    lab.until(done, "finished")
    stopped = begun(lab)
    stop(lab.workspace, lab.folder(stopped))
    trash_me = begun(lab)
    stop(lab.workspace, lab.folder(trash_me))
    trash.discard(lab.workspace, lab.folder(trash_me))
    kinds = [(item.kind, item.path.parent.name) for item in removable(lab.workspace)]
    assert ("trash", "runs") in kinds and ("checkpoints", done) in kinds
    assert ("checkpoints", stopped) not in kinds, "a stopped run needs its checkpoints to go on"
    assert usage(lab.workspace)["trash"] > 0
    assert remove(removable(lab.workspace)) > 0
    assert usage(lab.workspace)["trash"] == 0 and not (lab.folder(done) / "checkpoints").exists()
    assert lab.state(done).state == "finished"


def test_jobs_tell_progress_and_place(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    monkeypatch.setenv("TOY_STEP_S", "0.02")
    lab.hold()
    first, second, third = lab.launch("j", seed=[0, 1, 2], steps=400)
    eventually(lambda: (lab.folder(first) / "log.jsonl").exists())
    eventually(lambda: (jobs(lab.workspace)[0].step or 0) > 20)
    line = {job.id: job for job in jobs(lab.workspace)}
    running = [job for job in line.values() if job.state == "running"]
    waiting = [job for job in line.values() if job.state == "queued"]
    assert [job.place for job in waiting] == list(range(1, len(waiting) + 1))
    job = running[0]
    assert job.steps == 400 and job.step is not None
    assert job.steps_per_s is not None and 0 < job.steps_per_s < 51  # 0.02 s each at the least
    assert job.left_s == pytest.approx((400 - job.step) / job.steps_per_s)
    for run in (third, second, first):
        stop(lab.workspace, lab.folder(run))


def test_speeds_are_measured_from_the_log() -> None:
    rows = [{"step": 20, "elapsed_s": 2.0}, {"step": 60, "elapsed_s": 4.0}]
    assert steps_per_second(rows) == 20.0
    assert steps_per_second(rows[:1]) == 10.0
    assert steps_per_second([{"step": 20}]) is None and steps_per_second([]) is None
    config = {"steps": 100, "batch_prompts": 16, "samples_per_prompt": 8}
    assert expected_seconds(config, Pace(0.001)) == pytest.approx(12.8)
    assert expected_seconds(config, Pace(0.001, 5.0)) == pytest.approx(17.8)
    assert sweep_seconds([3.0, 2.0, 2.0], 2) == 4.0


TOLD = {
    "by its record": ({}, 8.5),
    "another attempt": ({"attempt": 2}, None),
    "an end that nobody saw": ({"exit": None}, None),
    "no time": ({"started": "yesterday"}, None),
    "a clock put back": ({"started": "2026-01-01T00:09:00Z"}, 2.0),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_a_run_takes_beside_its_steps_is_measured(case: str, lab: Lab) -> None:
    changed, beside = TOLD[case]
    folder = lab.folder("r")
    folder.mkdir(parents=True)
    ended = {"started": "2026-01-01T00:00:00Z", "exit": {"at": "2026-01-01T00:00:10Z"}}
    write_json(folder / "run.json", {"attempt": 1, **ended, **changed})
    write_json(folder / "done.json", {"wall_s": 3.5})
    write_json(folder / "validation.json", {})
    row = {"step": 40, "elapsed_s": 3.2}
    (folder / "log.jsonl").write_text(json.dumps(row) + "\n")
    for name, at in (("run.json", 500), ("validation.json", 502)):
        os.utime(folder / name, (at, at))
    assert pace(lab.workspace, lab.task) == Pace(pytest.approx(3.2 / 40 / 128), beside)


def test_waiting_for_runs_ends_with_them(lab: Lab) -> None:
    run = begun(lab)
    seen: list[str] = []

    def each(now: dict[str, State]) -> None:
        seen.append(now[run].state)
        lab.hold(False)

    states = wait(lab.workspace, [lab.folder(run)], each=each)
    assert states[run].state == "finished" and "running" in seen


def test_runs_trained_elsewhere_are_shown_and_forgotten(lab: Lab, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "one"
    elsewhere.mkdir(parents=True)
    with pytest.raises(UsageError, match="holds no run"):
        add(lab.workspace, tmp_path / "elsewhere")
    (elsewhere / "log.jsonl").write_text("")
    assert add(lab.workspace, tmp_path / "elsewhere") == [str(tmp_path / "elsewhere")]
    add(lab.workspace, tmp_path / "elsewhere")
    assert folders(lab.workspace) == [str(tmp_path / "elsewhere")]
    assert forget(lab.workspace, tmp_path / "elsewhere") == (str(tmp_path / "elsewhere"), [])


def test_a_run_that_lost_its_place_is_not_waited_for(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("r")
    queue.remove(lab.workspace, run)
    assert wait(lab.workspace, [lab.folder(run)])[run].state == "queued"
