"""Which reward model a run is probed with: the one it was trained with, or the task's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.config import task_at, task_path
from rlhf.runlog import CONFIG_NAME

from .errors import InputError
from .inputs import hash_files, input_files
from .paths import RUN_RECORD
from .runfiles import read_object, text
from .task import Task

KEY = "reward_model"


class RewardModel(NamedTuple):
    """A reward model: its folder, whose it is (run or task), and that in words."""

    folder: Path
    of: str
    said: str


def reward_model(task: Task, run: Path | None = None) -> RewardModel:
    """The reward model that the run in `run` was trained with; the task's if that is not there.

    The run's recipe names it. What has changed since the run's record hashed it is not it.
    """
    ours = task.reward_model.absolute()
    if run is None:
        return RewardModel(ours, "task", "the task's reward model")
    record = read_object(run / RUN_RECORD, []) or {}
    named = _named(task, run, record)
    if named is None:
        return RewardModel(ours, "task", "the task's reward model: the run's recipe names none")
    wrong = _wrong_with(named, record)
    if wrong:
        return RewardModel(ours, "task", f"the task's reward model: the run's {wrong}: {named}")
    same = named.resolve() == ours.resolve()
    own = "the run's own reward model (its samples are scored with the task's)"
    return RewardModel(named, "run", "the task's reward model, the run's own too" if same else own)


def _named(task: Task, run: Path, record: Mapping[str, Any]) -> Path | None:
    """The folder that the recipe names, /task being the task that the run was started for."""
    recipe = record.get("config") or read_object(run / CONFIG_NAME, [])
    name = text(recipe.get(KEY)) if isinstance(recipe, Mapping) else None
    env = record.get("env")
    root = text(env.get("TASK")) if isinstance(env, Mapping) else None
    with task_at(root or task.root.absolute()):
        return None if name is None or "\0" in name else Path(task_path(name)).absolute()


def _wrong_with(folder: Path, record: Mapping[str, Any]) -> str:
    """Why a folder is not the reward model of the record; nothing if it is."""
    inputs = record.get("inputs")
    known = inputs.get(KEY) if isinstance(inputs, Mapping) else None
    try:
        now = hash_files(input_files({KEY: folder})[KEY])
    except InputError:
        return "is not there"
    changed = isinstance(known, Mapping) and known.get("sha256") != now
    return "has changed since" if changed else ""
