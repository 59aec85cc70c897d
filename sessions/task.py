"""The task folder as the console reads it: is it whole, and which families it asks about."""

import re
from dataclasses import dataclass
from pathlib import Path

from rlhf.vocab import FAMILIES

REFERENCE = "reference"  # what the policy that training starts from is called
POLICY = "policy"
REWARD_MODEL = "reward_model"
TRAIN_PROMPTS = Path("data") / "prompts_train.jsonl"
DEV_PROMPTS = Path("data") / "prompts_dev.jsonl"
_NEEDED = (
    Path(POLICY) / "policy.safetensors",
    Path(POLICY) / "config.json",
    Path(REWARD_MODEL) / "rm.safetensors",
    Path(REWARD_MODEL) / "config.json",
    TRAIN_PROMPTS,
)
_FAMILY = re.compile(rb'"family":\s*"([a-z]{1,16})"')


class TaskError(Exception):
    """The task folder is missing or broken; `path` is what is wrong, `fix` what mends it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.fix = "give a task folder with --task DIR, or build one: python -m fixture build"


@dataclass(frozen=True)
class Task:
    """A task folder. Creates nothing; `check` says whether it is whole.

    `scorer` is a reward model elsewhere that scores in place of the task's own.
    """

    root: Path
    scorer: Path | None = None

    @property
    def policy(self) -> Path:
        return self.root / POLICY

    @property
    def reward_model(self) -> Path:
        return self.scorer or self.root / REWARD_MODEL

    @property
    def prompts(self) -> Path:
        return self.root / TRAIN_PROMPTS

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def files(self) -> list[Path]:
        """All that sampling a checkpoint reads of the task."""
        folders = {REWARD_MODEL: self.reward_model}
        return [folders.get(str(p.parent), self.root / p.parent) / p.name for p in _NEEDED]

    def check(self) -> None:
        """Raise TaskError, naming the first thing that is missing."""
        if not self.root.is_dir():
            raise TaskError(self.root, f"the task folder is not there: {self.root}")
        for needed in _NEEDED:
            path = self.root / needed
            if not path.is_file() or not path.stat().st_size:
                what = "is empty" if path.is_file() else "is missing"
                raise TaskError(path, f"the task folder is broken, {needed} {what}: {self.root}")

    def families(self) -> list[str]:
        """The families its training prompts ask about, in the vocabulary's order."""
        try:
            named = set(_FAMILY.findall(self.prompts.read_bytes()))
        except OSError:
            named = set()
        return [f for f in FAMILIES if f.encode() in named] or list(FAMILIES)
