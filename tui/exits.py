"""How a command ends: exit codes, and errors as one line or one JSON document."""

from enum import IntEnum
from pathlib import Path
from typing import Any


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    NO = 1  # it ran, and the answer is no
    USAGE = 2  # usage, a bad config, no terminal
    INVALID = 3  # an input artefact or submission is not valid
    UNABLE = 4  # it could not run: isolation, disk, lock
    INTERRUPTED = 130
    TERMINATED = 143


_KINDS = {
    Exit.NO: "no",
    Exit.USAGE: "usage",
    Exit.INVALID: "invalid",
    Exit.UNABLE: "unable",
    Exit.INTERRUPTED: "interrupted",
    Exit.TERMINATED: "terminated",
}


class CommandError(Exception):
    """A command that cannot do what was asked; `fix` says how to mend it."""

    def __init__(
        self, code: Exit, message: str, path: Path | str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.fix = fix

    def line(self) -> str:
        """The error on one line, for people."""
        from .render import clean

        return clean(f"rlhf-tui: {self.message}" + (f" ({self.fix})" if self.fix else ""))

    def document(self) -> str:
        """The error as the one JSON document that a command with --json prints."""
        from .render import document_text

        error: dict[str, Any] = {
            "kind": _KINDS[self.code],
            "message": self.message,
            "path": None if self.path is None else str(self.path),
            "fix": self.fix,
        }
        return document_text({"format": 1, "error": error})


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived: unwind, ending what was started, and exit 143."""
