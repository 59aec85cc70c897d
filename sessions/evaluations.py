"""The per-family evaluation: computed by a child process, kept by the content it measured.

An evaluation belongs to a checkpoint, a reference, a reward model, a prompt file, a seed and
a number of samples; its key is the hash of all of them, so nothing stale is ever shown.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json
from rlhf.vocab import FAMILIES

from .errors import SessionError, writing
from .evaluation_child import (
    EvaluationError,
    Progress,
    Sampling,
    run_child,
    sampling_command,
    scratch_folder,
    task_environment,
)
from .hashes import FileHashes
from .paths import EVAL_DIR, Workspace
from .runfiles import number, read_object
from .task import Task

PER_FAMILY = 200  # prompts a family, the first of prompts_train
SAMPLES = 4  # a prompt
SEED = 0
HOW = Sampling(PER_FAMILY, SAMPLES, SEED)

Evaluation = dict[str, Any]


class Evaluations:
    """The evaluations of one task's checkpoints, as one workspace keeps them."""

    def __init__(self, task: Task, workspace: Workspace) -> None:
        self.task = task
        self.workspace = workspace
        self.hashes = FileHashes(workspace.hashes)

    def key(self, policy_dir: Path) -> str:
        """The content hash that names this checkpoint's evaluation. Raises OSError.

        Kept evaluations are named without the configuration of the reference.
        """
        of_task = [path for path in self.task.files if path != self.task.policy / "config.json"]
        return self.hashes.sampled_key(policy_dir, of_task, HOW)

    def folders(self, policy_dir: Path) -> list[Path]:
        """Where its evaluation may lie; the first is where a new one is written."""
        own = policy_dir / EVAL_DIR
        if policy_dir.is_relative_to(self.workspace.root):
            return [own]
        return [self.workspace.evaluations, own]

    def stored(self, policy_dir: Path) -> Evaluation | None:
        """The kept evaluation of the checkpoint as it is now, or None."""
        found = self._found(policy_dir)
        return found[1] if found else None

    def place(self, policy_dir: Path) -> Path | None:
        """The file that `stored` reads, or None."""
        found = self._found(policy_dir)
        return found[0] if found else None

    def _found(self, policy_dir: Path) -> tuple[Path, Evaluation] | None:
        folders = [folder for folder in self.folders(policy_dir) if folder.is_dir()]
        if not folders:
            return None
        try:
            name = f"{self.key(policy_dir)}.json"
        except OSError:
            return None
        for folder in folders:
            found = read_object(folder / name, [])
            if found is not None and _is_whole(found):
                return folder / name, found
        return None

    def measure(
        self, policy_dir: Path, progress: Progress, cancel: threading.Event | None = None
    ) -> Evaluation:
        """Evaluate a checkpoint in a child and keep the result. Raises EvaluationError.

        Whatever ends this call early, `cancel` or an exception, also ends the child, and
        nothing is kept. `progress(done, total)` counts the child's own units.
        """
        try:
            name = f"{self.key(policy_dir)}.json"
        except OSError as error:
            raise EvaluationError(f"cannot read {error.filename}: {error.strerror}") from error
        with scratch_folder() as scratch:
            out = scratch / name
            command = sampling_command("rlhf.evaluate", self.task, policy_dir, HOW, out)
            run_child(command, task_environment(self.task), progress, cancel)
            found = read_object(out, [])
        if found is None or not _is_whole(found):
            raise EvaluationError("the evaluation wrote no usable result")
        self._keep(policy_dir, name, found)
        return found

    def _keep(self, policy_dir: Path, name: str, found: Evaluation) -> None:
        failures = []
        for folder in (self.folders(policy_dir)[0], self.workspace.evaluations):
            try:
                with writing(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                    write_json(folder / name, found)
                self.hashes.save()
                return
            except SessionError as error:
                failures.append(f"{error} ({error.fix})")
        raise EvaluationError(failures[-1])


def _is_whole(found: Mapping[str, Any]) -> bool:
    families, balanced = found.get("families"), found.get("balanced")
    if not isinstance(families, dict) or not isinstance(balanced, dict):
        return False
    figures = [balanced, *(families.get(family, balanced) for family in FAMILIES)]
    return all(
        isinstance(f, dict) and all(_is_m(f.get(k)) for k in ("proxy", "kl")) for f in figures
    )


def _is_m(value: Any) -> bool:
    return isinstance(value, dict) and {"mean", "se", "n"} <= value.keys()


def attach(run: dict[str, Any], found: Evaluation) -> None:
    """Put an evaluation's figures into a run's facts."""
    run["eval"] = {key: number(found.get(key)) for key in ("prompts", "n", "seed")}
    run["families"] = {
        family: {metric: _m(figures[metric]) for metric in ("proxy", "kl")}
        for family, figures in found["families"].items()
        if family in FAMILIES
    }
    means = {metric: _m(found["balanced"][metric]) for metric in ("proxy", "kl")}
    run["balanced"] = {metric: m["mean"] for metric, m in means.items()}
    run["balanced"] |= {f"{metric}_se": m["se"] for metric, m in means.items()}
    run["balanced"]["n"] = means["proxy"]["n"]
    figures = {"balanced": means, **run["families"]}
    run["nonfinite"] = run["nonfinite"] + [
        f"{family}.{metric}"
        for family, pair in figures.items()
        for metric, m in pair.items()
        if m["mean"] is None and m["n"]
    ]


def _m(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: number(value.get(key)) for key in ("mean", "se", "n")}
