"""A submission folder made from a run: what is known filled in, what is not named.

The folder appears whole or not at all. Fields left empty are null, "" or [], so that `still_empty`
and the grader see them; a file that is still to be written is not there.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rlhf.runlog import CONFIG_NAME, LOG_NAME, write_json

from .afterwards import dev_command
from .errors import InputError, UsageError, writing
from .evaluation_child import EvaluationError, run_child, task_environment
from .inputs import check_weights
from .runfiles import DEV_NAME, POLICY_NAME, number, read_object
from .task import Task
from .unfilled import ANSWER, HEADINGS, SUMMARY, still_empty

CHECKPOINT = "checkpoint"
EVIDENCE_FILES = (CONFIG_NAME, LOG_NAME, DEV_NAME)

Decisions = Mapping[str, Mapping[str, Any]]  # by run: the decisions that stand and are not stale


def scaffold(
    task: Task, run: Mapping[str, Any], source: Path, place: Path, decisions: Decisions
) -> list[str]:
    """Make the folder `place` from the run in `source`; the names of what is still empty.

    Raises UsageError if something is there already, InputError if the run has no usable
    weights, SessionError if it cannot be written or the dev evaluation cannot be made.
    """
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise UsageError(f"{place} exists and is not empty", str(place), "name a new folder")
    if not (source / POLICY_NAME).is_file():
        fix = "wait until it has finished, or choose another run"
        raise InputError(f"{run['id']} has no final weights yet", str(source), fix)
    check_weights(source / POLICY_NAME)
    with _draft(place) as draft:
        _fill(task, run, source, draft, decisions)
        return still_empty(draft)


@contextmanager
def _draft(place: Path) -> Iterator[Path]:
    """A hidden folder beside `place`, renamed to it at the end of the block."""
    place = place.absolute()
    draft = place.parent / f".{place.name}.{secrets.token_hex(4)}.new"
    try:
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            yield draft
            os.rename(draft, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(
    task: Task, run: Mapping[str, Any], source: Path, draft: Path, decisions: Decisions
) -> None:
    (draft / CHECKPOINT).mkdir()
    for name in (POLICY_NAME, "config.json"):
        shutil.copyfile(source / name, draft / CHECKPOINT / name)
    kept = draft / "experiments" / str(run["id"])
    kept.mkdir(parents=True)
    for name in EVIDENCE_FILES:
        if (source / name).is_file() and (source / name).stat().st_size:
            shutil.copyfile(source / name, kept / name)
    dev = _dev_eval(task, draft / CHECKPOINT, kept / DEV_NAME)
    write_json(draft / ANSWER, _answer(task, run, dev, decisions, _files(draft, kept)))
    (draft / SUMMARY).write_text("".join(f"{heading}\n\n\n" for heading in HEADINGS))


def _files(draft: Path, kept: Path) -> list[str]:
    return sorted(path.relative_to(draft).as_posix() for path in kept.iterdir())


def _dev_eval(task: Task, policy: Path, stored: Path) -> dict[str, Any]:
    """The run's own dev evaluation; made now, by a child, where it has none."""
    found = read_object(stored, [])
    if found is None or number(found.get("proxy_mean")) is None:
        command = dev_command(policy, stored)
        try:
            run_child(command, task_environment(task), lambda done, total: None, None)
        except EvaluationError as error:
            message = f"the dev evaluation failed: {error}"
            raise EvaluationError(message, error.code) from error
        found = read_object(stored, []) or {}
    return {key: number(found.get(key)) for key in ("proxy_mean", "kl_mean")}


def _answer(
    task: Task,
    run: Mapping[str, Any],
    dev: dict[str, Any],
    decisions: Decisions,
    files: list[str],
) -> dict[str, Any]:
    shipped = run["source"] == "shipped"
    described = ", ".join(_described(run))
    return {
        "checkpoint_dir": CHECKPOINT,
        "recipe": {
            "source": run["id"] if shipped else "own",
            "description": f"{run['name']}: {described}",
            "kl_coef": run["kl_coef"],
            "steps": run["steps"],
        },
        "dev_eval": dev,
        "certification": {
            "improved_over_reference": None,
            "estimated_true_quality": None,
            "families_improved": [],
            "families_not_improved": [],
            "basis": "",
        },
        "run_assessments": [_assessed(name, decisions.get(name)) for name in shipped_runs(task)],
        "experiments": [
            {"name": run["id"], "description": described, "files": files, "results": _numbers(dev)}
        ],
    }


def _numbers(dev: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in dev.items() if value is not None}


def _described(run: Mapping[str, Any]) -> Iterator[str]:
    for key in ("kl_coef", "steps", "seed", "wrapper"):
        if run[key] is not None:
            yield f"{key} {run[key]}"
    mix = run["mix"] or {}
    yield "prompts " + " ".join(f"{family} {share:.3g}" for family, share in mix.items())


def shipped_runs(task: Task) -> list[str]:
    """The names of the runs that the task ships with, each of which is to be assessed."""
    found = task.runs.iterdir() if task.runs.is_dir() else ()
    return sorted(folder.name for folder in found if (folder / POLICY_NAME).is_file())


def _assessed(name: str, made: Mapping[str, Any] | None) -> dict[str, Any]:
    if made is None:
        return {"run": name, "recommend_ship": None, "issues": []}
    ships = made["decision"] == "ship"
    return {"run": name, "recommend_ship": ships, "issues": [] if ships else [made["reason"]]}
