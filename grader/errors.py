"""What can stop a grade, as one tree, and what the process then says to its caller.

GraderError
├── SubmissionError   the folder is not there, or one of its files cannot be used
├── TruthError        the truth of a world is missing, damaged or belongs to another build
└── IsolationError    untrusted code cannot be run safely on this machine

Every message is one line that names the thing at fault; `fix` says what to do about it.
"""

from enum import IntEnum
from typing import Any

from .printable import one_line


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    NO = 1  # it ran and the answer is no
    USAGE = 2
    INVALID = 3  # an input artefact, or the submission
    CANNOT_RUN = 4  # isolation, disk
    INTERRUPTED = 130
    TERMINATED = 143


class GraderError(Exception):
    """Base of every error that this package raises on purpose."""

    kind = "grader"
    exit = Exit.CANNOT_RUN

    def __init__(self, message: str, path: str | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.fix = fix


class SubmissionError(GraderError):
    """The folder is not there, or one of its files cannot be used."""

    kind = "submission"
    exit = Exit.INVALID


class TruthError(GraderError):
    """The truth of a world is missing, damaged or belongs to another build."""

    kind = "truth"
    exit = Exit.INVALID


class IsolationError(GraderError):
    """Untrusted code cannot be run safely on this machine."""

    kind = "isolation"
    exit = Exit.CANNOT_RUN


def error_document(kind: str, message: str, path: str | None, fix: str | None) -> dict[str, Any]:
    """A failure, as one document."""
    where = path and path.encode(errors="replace").decode()
    error = {"kind": kind, "message": one_line(message, 500), "path": where, "fix": fix}
    return {"format": 1, "error": error}
