"""Score files: what a policy's responses score, sampled by a child, kept by what they came from.

A score file belongs to a checkpoint, the reference, the reward model, the prompts and the way of
sampling; its key is the hash of all of them. It is 2 MB of JSONL, so it lies in the user's cache.
"""

import errno
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json

from .errors import writing
from .evaluation_child import (
    EvaluationError,
    Progress,
    Sampling,
    run_child,
    sampling_command,
    task_environment,
)
from .hashes import FileHashes
from .paths import Workspace
from .runfiles import read_object
from .task import Task

PER_FAMILY = 500  # prompts a family, the first of prompts_train
SAMPLES = 4  # a prompt
SEED = 0
ROOM = 1 << 22  # bytes that must be free: a file takes half of it
HOW = Sampling(PER_FAMILY, SAMPLES, SEED)


class ScoreFiles:
    """The score files of one task's checkpoints, as one workspace's cache keeps them."""

    def __init__(self, task: Task, workspace: Workspace) -> None:
        self.task = task
        self.workspace = workspace
        self.hashes = FileHashes(workspace.hashes)

    @property
    def reference(self) -> Path:
        """The folder of the policy that every run is held against."""
        return self.task.policy

    def key(self, policy_dir: Path) -> str:
        """The content hash that names this checkpoint's score file. Raises OSError."""
        return self.hashes.sampled_key(policy_dir, self.task.files, HOW)

    def stored(self, policy_dir: Path) -> Path | None:
        """The kept score file of the checkpoint as it is now, whole, or None."""
        try:
            path = self._path(self.key(policy_dir))
            receipt = read_object(path.with_suffix(".json"), [])
            whole = receipt is not None and receipt.get("sha256") == self.hashes.of(path)
        except OSError:
            return None
        return path if whole else None

    def measure(
        self, policy_dir: Path, progress: Progress, cancel: threading.Event | None = None
    ) -> Path:
        """Sample and score in a child, keep the file. Raises EvaluationError or SessionError.

        `progress(done, total)` counts prompts. Nothing is kept of what ended early, nor of a
        checkpoint that changed meanwhile.
        """
        key = self._key(policy_dir)
        path = self._path(key)
        with writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(path.parent).free < ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            scratch = tempfile.TemporaryDirectory(prefix=".measuring-", dir=path.parent)
        with scratch as folder:
            out = Path(folder) / "scores.jsonl"
            command = sampling_command("rlhf.analysis.scores", self.task, policy_dir, HOW, out)
            run_child(command, task_environment(self.task), progress, cancel)
            if self._key(policy_dir) != key:
                raise EvaluationError(f"{policy_dir} changed while it was measured: try again")
            self._keep(out, path, policy_dir)
        return path

    def _key(self, policy_dir: Path) -> str:
        try:
            return self.key(policy_dir)
        except OSError as error:
            raise EvaluationError(f"cannot read {error.filename}: {error.strerror}") from error

    def _path(self, key: str) -> Path:
        return self.workspace.scores / f"{key}.jsonl"

    def _keep(self, out: Path, path: Path, policy_dir: Path) -> None:
        """Publish the file, then the receipt that says it is whole."""
        if not out.is_file():
            raise EvaluationError("the sampling wrote no scores")
        receipt: dict[str, Any] = {"format": 1, "sha256": self.hashes.of(out)}
        receipt |= {"policy": str(policy_dir), "n": SAMPLES, "seed": SEED, "prompts": PER_FAMILY}
        with writing(path):
            os.replace(out, path)
            write_json(path.with_suffix(".json"), receipt)
        self.hashes.of(path)
        self.hashes.save()
