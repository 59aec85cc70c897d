"""Plans are checked before anything starts; launches are whole, named, and queued."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from toy_lab import Lab, eventually

from rlhf.config import DEFAULTS
from sessions import ids, queue
from sessions.errors import InputError, SessionError, UsageError
from sessions.evidence import state_of
from sessions.inputs import changed_inputs
from sessions.launch import launch_job
from sessions.plan import MOST_RUNS, Request, make_plans
from sessions.record import load
from sessions.rundir import recipe
from sessions.supervise import ensure_supervisor, supervised


def test_ids_are_made_from_names() -> None:
    names = {"a b/c": "a-b-c", "../../etc": "etc", "KL 0.1": "kl-0.1", "[/]": "run", "日本": "run"}
    names |= {"é": "e", "\x1b[31mred": "31mred", "x" * 200: "x" * 64, "-_.": "run", "a..": "a"}
    for name, expected in names.items():
        assert ids.slug(name) == expected
        assert ids.ID.match(ids.slug(name))


def test_a_taken_id_gets_a_suffix_within_the_length() -> None:
    assert ids.candidate("x" * 64, 1) == "x" * 64
    assert ids.candidate("x" * 64, 12) == "x" * 61 + "-12"


def test_a_sweep_is_the_product_of_its_axes(lab: Lab) -> None:
    plans = lab.plans("s", kl_coef=[0.1, 0.2], seed=[0, 1, 2])
    points = [(plan.config["kl_coef"], plan.config["seed"]) for plan in plans]
    assert points == [(k, s) for k in (0.1, 0.2) for s in (0, 1, 2)]
    assert plans[4].name == "s-kl0.2-seed1"
    assert len({plan.name for plan in plans}) == 6


def test_names_without_a_name_say_what_is_run(lab: Lab) -> None:
    assert [plan.name for plan in lab.plans(kl_coef=0.05, steps=700)] == ["kl0.05-s700"]
    names = [plan.name for plan in lab.plans(kl_coef=[0.05, 0.1], seed=[3, 4])]
    assert names[0] == "kl0.05-s5-seed3"


def test_a_wrapper_is_told_by_name_and_list(lab: Lab, tmp_path: Path) -> None:
    wrapper = tmp_path / "Clip it.py"
    wrapper.write_text("def transform(records, tokens, rewards): return rewards\n")
    queue.pause(lab.workspace, True)
    (run,) = lab.launch(kl_coef=0.1, steps=800, reward_wrapper=str(wrapper))
    assert run == "kl0.1-s800-clip-it"
    assert lab.plans("given", reward_wrapper=str(wrapper))[0].name == "given"
    copy = str(lab.folder(run) / "wrapper.py")
    assert lab.plans(reward_wrapper=copy)[0].name == "kl0.1-s5-clip-it"
    (again,) = lab.launch("again", reward_wrapper=copy)
    assert {row["wrapper"] for row in lab.listed().values()} == {str(wrapper)}
    request = Request({"reward_wrapper": [copy]}, DEFAULTS, parent="p", parent_name="base")
    assert make_plans(request, lab.task)[0].name == "base-clip-it"


def test_seeds_of_one_wrapper_are_seeds_of_one_recipe(lab: Lab, tmp_path: Path) -> None:
    wrapper = tmp_path / "clip.py"
    recipes = []
    for seed, added in ((0, 0), (1, 0), (2, 1)):
        wrapper.write_text(f"def transform(records, tokens, rewards): return rewards + {added}\n")
        (run,) = lab.launch(seed=seed, steps=2, reward_wrapper=str(wrapper))
        lab.until(run, "finished")
        recipes.append(recipe(lab.folder(run), lab.task))
    assert recipes[0] == recipes[1] != recipes[2]


def test_a_clone_is_named_after_its_parent_and_its_changes(lab: Lab) -> None:
    base = {**DEFAULTS, "seed": 7}
    request = Request({"kl_coef": [0.2]}, base, parent="p", parent_name="base run")
    (plan,) = make_plans(request, lab.task)
    assert plan.name == "base run-kl0.2"
    assert plan.config["seed"] == 7 and plan.config["kl_coef"] == 0.2


BAD: dict[str, tuple[dict[str, Any], type[SessionError], str]] = {
    "unknown key": ({"kl_coeff": 1}, UsageError, "kl_coef"),
    "wrong type": ({"steps": "many"}, UsageError, "steps"),
    "negative": ({"kl_coef": -1}, UsageError, "kl_coef"),
    "not finite": ({"lr": float("nan")}, UsageError, "lr"),
    "missing reward model": ({"reward_model": "/nowhere"}, InputError, "/nowhere"),
    "missing wrapper": ({"reward_wrapper": "/nowhere.py"}, InputError, "/nowhere.py"),
    "missing prompts": ({"prompt_file": "/nowhere.jsonl"}, InputError, "/nowhere.jsonl"),
    "too many runs": ({"seed": list(range(MOST_RUNS + 1))}, UsageError, "at most"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_and_nothing_is_written(case: str, lab: Lab) -> None:
    axes, error, words = BAD[case]
    with pytest.raises(error, match=re.escape(words)):
        lab.launch("bad", **axes)
    assert not lab.workspace.root.exists()


WRAPPERS = {
    "no transform": "def other(): pass",
    "not Python": "def transform(:",
    "null bytes": "def transform(a, b, c): return c\0",
}


@pytest.mark.parametrize("case", WRAPPERS)
def test_a_wrapper_that_cannot_work_is_refused(case: str, lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "w.py"
    path.write_text(WRAPPERS[case])
    with pytest.raises(InputError, match="w.py"):
        lab.plans(reward_wrapper=str(path))


def test_truncated_weights_are_refused(lab: Lab) -> None:
    path = lab.task / "reward_model" / "rm.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="rm.safetensors"):
        lab.plans()


@pytest.mark.parametrize("header", [b"", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"[]", b"12345678"])
def test_weights_with_a_senseless_header_are_refused(header: bytes, lab: Lab) -> None:
    (lab.task / "policy" / "policy.safetensors").write_bytes(header)
    with pytest.raises(InputError, match="policy.safetensors"):
        lab.plans()


def test_a_weighted_family_without_prompts_is_refused(lab: Lab) -> None:
    prompts = lab.task / "data" / "prompts_train.jsonl"
    kept = [line for line in prompts.read_text().splitlines() if "dune" not in line]
    prompts.write_text("\n".join(kept) + "\n")
    with pytest.raises(UsageError, match="dune"):
        lab.plans(family_weights={"dune": 1.0, "anvil": 1.0})
    assert lab.plans(family_weights={"dune": 0.0, "anvil": 1.0})


def test_the_record_says_what_was_launched(lab: Lab, tmp_path: Path) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text("def transform(records, tokens, rewards): return rewards\n")
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("a run", seed=3, reward_wrapper=str(wrapper))
    record = load(lab.folder(run))
    assert record is not None
    assert (record["id"], record["name"], record["seed"]) == (run, "a run", 3)
    assert record["env"]["TASK"] == str(lab.task)
    assert record["config"]["reward_wrapper"] == str(lab.folder(run) / "wrapper.py")
    assert record["inputs"]["reward_wrapper"]["source"] == str(wrapper)
    assert set(record["inputs"]) == {"policy_ref", "reward_model", "prompt_file", "reward_wrapper"}
    assert all(len(item["sha256"]) == 64 for item in record["inputs"].values())
    assert len(record["code"]) == 64 and record["threads"] == 1
    assert changed_inputs(record["inputs"]) == []
    assert json.loads((lab.folder(run) / "launch_config.json").read_text()) == record["config"]


def test_the_queue_keeps_its_order_and_can_be_reordered(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    runs = lab.launch("s", seed=[0, 1, 2])
    later = lab.launch("later")
    line = [entry.id for entry in queue.entries(lab.workspace)]
    assert line == [*runs, *later]
    queue.move(lab.workspace, later[0], 1)
    assert [entry.id for entry in queue.entries(lab.workspace)] == [*later, *runs]
    queue.move(lab.workspace, later[0], 99)
    assert [entry.id for entry in queue.entries(lab.workspace)] == [*runs, *later]
    with pytest.raises(UsageError, match="not in the queue"):
        queue.move(lab.workspace, "nobody", 1)


def test_a_paused_queue_starts_nothing_until_it_goes_on(lab: Lab) -> None:
    queue.pause(lab.workspace, True)
    (run,) = lab.launch("patient")
    assert not supervised(lab.workspace)
    assert lab.state(run).state == "queued"
    queue.pause(lab.workspace, False)
    assert ensure_supervisor(lab.workspace)
    lab.until(run, "finished")


def test_a_run_sees_one_thread_its_task_and_no_terminal(lab: Lab) -> None:
    script = "import json, os, sys; print(json.dumps([os.environ['OMP_NUM_THREADS'],"
    script += " os.environ['TASK'], os.nice(0), os.getsid(0) == os.getppid(), sys.stdin.read()]))"
    job = launch_job(lab.workspace, "grade", "look", [sys.executable, "-c", script], lab.task)
    folder = lab.workspace.jobs / job
    eventually(lambda: state_of(folder).state == "finished")
    seen = json.loads((folder / "output.log").read_text().splitlines()[-1])
    assert seen[:2] == ["1", str(lab.task)]
    assert seen[2] >= 10 and seen[3] is True and seen[4] == ""


def test_a_job_that_fails_says_so(lab: Lab) -> None:
    from sessions.launch import launch_job

    job = launch_job(lab.workspace, "grade", "x", [sys.executable, "-c", "exit(3)"], lab.task)
    folder = lab.workspace.jobs / job
    state = eventually(lambda: (s := state_of(folder)).state == "failed" and s)
    assert "3" in state.reason
