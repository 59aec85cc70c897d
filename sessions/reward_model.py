"""Which reward model scores: the one a run was trained with, the task's, or another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.config import task_at, task_path
from rlhf.runlog import CONFIG_NAME

from .errors import InputError, UsageError
from .inputs import hash_files, input_files
from .paths import RUN_RECORD
from .runfiles import read_object, text
from .task import Task

KEY = "reward_model"


class RewardModel(NamedTuple):
    """A reward model: its folder, whose it is (run, task or given), and that in words."""

    folder: Path
    of: str
    said: str

    def document(self) -> dict[str, str]:
        """What JSON says of it."""
        said = {"reward_model_of": self.of, "reward_model_is": self.said}
        return {"reward_model": str(self.folder), **said}


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
    said = "the task's reward model, the run's own too" if same else "the run's own reward model"
    return RewardModel(named, "run", said)


def scoring(task: Task, wanted: str, runs: Sequence[Path]) -> RewardModel:
    """The reward model that `wanted` names for the scores of runs: `task`, `run` or a folder.

    Raises UsageError if runs were not trained with one and the same, InputError if it is not there.
    """
    if wanted == "task":
        return reward_model(task)
    if wanted == "run":
        return _of_all([reward_model(task, run) for run in runs])
    folder = Path(wanted).expanduser().absolute()
    _hash(folder)
    return RewardModel(folder, "given", "the reward model that was named")


def _of_all(found: Sequence[RewardModel]) -> RewardModel:
    if not found:
        raise UsageError("--reward-model run: name a run")
    for one in found:
        if one.of != "run":
            raise InputError(f"no reward model of the run: {one.said.partition(': ')[2]}")
    if len({one.folder.resolve() for one in found}) != 1:
        message = "the runs were trained with different reward models: no common axis"
        raise UsageError(message, fix="name runs of one reward model, or --reward-model DIR")
    return found[0]


def notes(task: Task, runs: Iterable[tuple[str, Path]]) -> list[str]:
    """Of each named run that was trained on other scores than those of `task`, on which."""
    return [f"{name} {said}" for name, run in runs for said in _otherwise(task, run)]


def _otherwise(task: Task, run: Path) -> Iterator[str]:
    record = read_object(run / RUN_RECORD, []) or {}
    named = _named(task, run, record)
    wrong = "" if named is None else _wrong_with(named, record)
    if wrong:
        yield f"was trained with a reward model that {wrong}: {named}"
    elif named is not None and _hash(named) != _hash(task.reward_model):
        yield f"was trained with another reward model: {named}"
    if _recipe(run, record).get("reward_wrapper"):
        yield "was trained through a wrapper, which is not in these raw scores"


def _hash(folder: Path) -> str:
    return hash_files(input_files({KEY: folder})[KEY])


def _recipe(run: Path, record: Mapping[str, Any]) -> Mapping[str, Any]:
    recipe = record.get("config") or read_object(run / CONFIG_NAME, [])
    return recipe if isinstance(recipe, Mapping) else {}


def _named(task: Task, run: Path, record: Mapping[str, Any]) -> Path | None:
    """The folder that the recipe names, /task being the task that the run was started for."""
    name = text(_recipe(run, record).get(KEY))
    env = record.get("env")
    root = text(env.get("TASK")) if isinstance(env, Mapping) else None
    with task_at(root or task.root.absolute()):
        return None if name is None or "\0" in name else Path(task_path(name)).absolute()


def _wrong_with(folder: Path, record: Mapping[str, Any]) -> str:
    """Why a folder is not the reward model of the record; nothing if it is."""
    inputs = record.get("inputs")
    known = inputs.get(KEY) if isinstance(inputs, Mapping) else None
    try:
        now = _hash(folder)
    except InputError:
        return "is not there"
    changed = isinstance(known, Mapping) and known.get("sha256") != now
    return "has changed since" if changed else ""
