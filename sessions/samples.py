"""The samples of a checkpoint beside the reference's: computed by a child, kept by content."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.runlog import write_json

from .analysis import analyse
from .errors import SessionError
from .evaluation_child import Progress
from .hashes import key_of
from .paths import Workspace
from .runfiles import read_object
from .scores import ScoreFiles
from .task import Task

MADE_BY = 2  # goes up when the same files would give another document


class Counts(NamedTuple):
    """How many responses of each kind, and the seed of the random ones."""

    top: int = 20
    bottom: int = 20
    random: int = 20
    seed: int = 0


class Samples:
    """Reads what `python -m rlhf.analysis.samples` makes of two score files."""

    def __init__(self, task: Task, workspace: Workspace, keep: bool = True) -> None:
        self.scores = ScoreFiles(task, workspace)
        self._folder, self._keep = workspace.tails.parent / "samples", keep

    def lacking(self, policy_dir: Path) -> list[Path]:
        """The folders, the reference's among them, that must be sampled first."""
        wanted = dict.fromkeys([self.scores.reference, policy_dir])
        return [folder for folder in wanted if self.scores.stored(folder) is None]

    def document(
        self,
        policy_dir: Path,
        counts: Counts,
        progress: Progress,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """The document; what is lacking is sampled first, some seconds each.

        Raises SessionError or EvaluationError; `progress` counts prompts of one sampling.
        """
        for folder in self.lacking(policy_dir):
            self.scores.measure(folder, progress, cancel)
        own, ground = self.scores.stored(policy_dir), self.scores.stored(self.scores.reference)
        if own is None or ground is None:
            raise SessionError(f"{policy_dir} changed while it was sampled: try again")
        contents = [self.scores.hashes.of(path) for path in (own, ground)]
        name = key_of([MADE_BY, *counts, *contents])
        kept = self._folder / f"{name}.json"
        found = read_object(kept, [])
        if found is None or not isinstance(found.get("families"), dict):
            found = self._computed(own, ground, counts, cancel)
            if self._keep:
                with suppress(OSError):  # a cache that cannot be written costs only time
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    write_json(kept, found)
        return found

    def _computed(
        self, own: Path, ground: Path, counts: Counts, cancel: threading.Event | None
    ) -> dict[str, Any]:
        words = [str(own), "--reference", str(ground)]
        for name, value in counts._asdict().items():
            words += [f"--{name}", str(value)]
        found = analyse("samples", words, cancel)
        if not isinstance(found.get("families"), dict):
            raise SessionError("the samples came out in no usable form")
        return found
