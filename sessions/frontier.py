"""Reward against KL: the evaluated checkpoints of runs, and best-of-n from the reference."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.runlog import CHECKPOINTS_NAME, write_json

from .analysis import analyse
from .errors import SessionError
from .evaluations import Evaluation, Evaluations
from .hashes import key_of
from .paths import Workspace
from .runfiles import has_policy, read_object
from .task import Task


class Checkpoint(NamedTuple):
    """A checkpoint of a run: its step, None for the final weights, and its folder."""

    step: int | None
    folder: Path


def checkpoints(run: Path) -> Iterator[Checkpoint]:
    """The complete checkpoints of a run, then its final weights."""
    for folder in sorted((run / CHECKPOINTS_NAME).glob("step-*")):
        number = folder.name.removeprefix("step-")
        if number.isdigit() and has_policy(folder):
            yield Checkpoint(int(number), folder)
    if has_policy(run):
        yield Checkpoint(None, run)


class Frontier:
    """Reads evaluations as they are kept; computes best-of-n once for a task."""

    def __init__(self, task: Task, workspace: Workspace, keep: bool = True) -> None:
        self.evaluations = Evaluations(task, workspace)
        self._task, self._keep = task, keep
        self._folder = workspace.cache / "frontier"

    def points(self, run: Path) -> tuple[list[tuple[int | None, Evaluation]], list[Path]]:
        """(step, evaluation) of each evaluated checkpoint, and the folders of the others."""
        there, lacking = [], []
        for step, folder in checkpoints(run):
            found = self.evaluations.stored(folder)
            if found is None:
                lacking.append(folder)
            else:
                there.append((step, found))
        return there, lacking

    def best_of_n(self, cancel: threading.Event | None = None) -> dict[str, Any]:
        """The document of rlhf.analysis.frontier; some seconds the first time.

        Raises SessionError, InputError or EvaluationError.
        """
        kept = self._folder / f"{self._key()}.json"
        found = read_object(kept, [])
        if found is None or not isinstance(found.get("overall"), list):
            found = analyse("frontier", self._words(), cancel)
            if not isinstance(found.get("overall"), list):
                raise SessionError("best-of-n came out in no usable form")
            if self._keep:
                with suppress(OSError):  # a cache that cannot be written costs only time
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    write_json(kept, found)
        return found

    def _words(self) -> list[str]:
        task = self._task
        pairs = {
            "--policy": task.policy,
            "--reward-model": task.reward_model,
            "--prompts": task.prompts,
        }
        return [str(word) for pair in pairs.items() for word in pair]

    def _key(self) -> str:
        task = self._task
        files = [task.policy / "policy.safetensors", task.policy / "config.json", task.prompts]
        files += [task.reward_model / name for name in ("rm.safetensors", "config.json")]
        try:
            return key_of([1, *(self.evaluations.hashes.of(path) for path in files)])
        except OSError as error:
            raise SessionError(f"cannot read {error.filename}: {error.strerror}") from error
