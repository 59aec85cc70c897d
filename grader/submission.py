"""A submission as its files say it is: nothing of it is trusted, imported or run here."""

import os
import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import strictjson
from .errors import SubmissionError
from .snapshot import Snapshot, take

ANSWER = "answer.json"
SUMMARY = "summary.md"
DIAGNOSTIC = "diagnostic.py"
WEIGHTS = "checkpoint/policy.safetensors"
CONFIG = "checkpoint/config.json"
_MAX_TEXT = 1 << 20
_DEFAULT_SUB = "/workspace/submission"


@dataclass(frozen=True)
class Submission:
    """What was handed in. `answer` is empty if answer.json cannot be used; `problems` say why."""

    snapshot: Snapshot
    answer: dict[str, Any]
    summary: str
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def invalid(self) -> bool:
        """Neither a parseable answer.json nor checkpoint/policy.safetensors."""
        return ANSWER in self.problems and WEIGHTS not in self.snapshot.files

    def list_of(self, key: str) -> list[Any]:
        """The list under `key`, empty if there is none."""
        value = self.answer.get(key)
        return value if isinstance(value, list) else []

    def dict_of(self, key: str) -> dict[str, Any]:
        """The object under `key`, empty if there is none."""
        value = self.answer.get(key)
        return value if isinstance(value, dict) else {}

    def file_at(self, path: object) -> str | None:
        """The copied file that `path` of an answer means: inside the folder, regular, not empty.

        Relative paths start at the folder, and absolute ones under SUB mean the folder.
        """
        relative = self.inside(path)
        if relative is None or relative not in self.snapshot.files:
            return None
        return relative if (self.snapshot.root / relative).stat().st_size else None

    def inside(self, path: object) -> str | None:
        """`path` of an answer relative to the folder, or None if it leaves it."""
        if not isinstance(path, str) or not path or "\0" in path:
            return None
        for root in (os.environ.get("SUB") or _DEFAULT_SUB, str(self.snapshot.source.resolve())):
            root = posixpath.normpath(root)
            if path == root or path.startswith(root + "/"):
                path = path[len(root) :].lstrip("/") or "."
                break
        relative = posixpath.normpath(path)
        outside = relative == ".." or relative.startswith(("/", "../"))
        return None if outside else relative


def _read_answer(snapshot: Snapshot) -> dict[str, Any]:
    data = snapshot.read(ANSWER, strictjson.MAX_BYTES)
    try:
        answer = strictjson.parse(data)
    except strictjson.NotJson as error:
        raise SubmissionError(str(error), ANSWER) from None
    if not isinstance(answer, dict):
        raise SubmissionError(f"holds a {type(answer).__name__}, not an object", ANSWER)
    return answer


def read(source: str | Path, copy: Path) -> Submission:
    """Copy the folder `source` into `copy` and read it. Raises SubmissionError if it is none."""
    snapshot = take(source, copy)
    problems = dict(snapshot.problems)
    answer: dict[str, Any] = {}
    summary = ""
    try:
        answer = _read_answer(snapshot)
    except SubmissionError as error:
        problems[ANSWER] = str(error)
    try:
        summary = snapshot.read(SUMMARY, _MAX_TEXT).decode("utf-8", "replace")
    except SubmissionError as error:
        problems[SUMMARY] = str(error)
    return Submission(snapshot, answer, summary, problems)
