"""What the dashboard does to runs: the one-shot command itself, as a child that outlives it.

A child has a session and files of its own, so quitting or killing the dashboard in the middle of
an action neither stops nor breaks it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

from .render import clean

if TYPE_CHECKING:
    from .place import Place


@dataclass(frozen=True)
class Outcome:
    """What became of a command: its JSON document, or why it failed and how to mend that."""

    words: tuple[str, ...]
    code: int
    document: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    fix: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.message)

    @property
    def refused(self) -> list[str]:
        """Each thing that was refused, and why, where the others were done; safe to show."""
        found = self.document.get("refused") or []
        return [clean(f"{one['id']}: {one['message']}") for one in found]

    def line(self) -> str:
        """What went wrong, on one line, safe to show."""
        return clean(f"{self.message} ({self.fix})" if self.fix else self.message)


def command_line(place: "Place", words: Sequence[str]) -> list[str]:
    """`rlhf-tui WORDS --json` for this place."""
    where = ["--workspace", str(place.workspace.absolute()), "--task", str(place.task.absolute())]
    where += [word for folder in place.extra for word in ("--runs", str(folder.absolute()))]
    where += ["--read-only"] if place.read_only else []
    cut = words.index("--") if "--" in words else len(words)
    return [sys.executable, "-P", "-m", "tui.cli", *where, *words[:cut], "--json", *words[cut:]]


def perform(place: "Place", words: Sequence[str]) -> Outcome:
    """Run the command to its end. For a worker thread; never raises for what the command does."""
    try:
        with _scratch() as out, _scratch() as err:
            child = subprocess.Popen(
                command_line(place, words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            code = child.wait()
            out.seek(0)
            err.seek(0)
            outcome = _outcome(tuple(words), code, out.read(), err.read())
            # a long path would push the reason out of a line
            inside = outcome.message.replace(f"{place.workspace.absolute()}{os.sep}", "")
            return replace(outcome, message=inside)
    except OSError as error:
        return Outcome(tuple(words), 4, message=f"{words[0]} could not start: {error.strerror}")


def _scratch() -> IO[bytes]:
    """A file for what a command says: in memory where that can be, for the disk may be full."""
    if sys.platform == "linux":
        return open(os.memfd_create("outcome"), "w+b")
    return tempfile.TemporaryFile()


def _outcome(words: tuple[str, ...], code: int, out: bytes, err: bytes) -> Outcome:
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        told = err.decode(errors="replace").strip().splitlines()
        return Outcome(words, code, {}, told[-1] if told else f"{words[0]} ended with code {code}")
    error = document.get("error")
    if isinstance(error, dict):
        message, fix = str(error.get("message") or "failed"), str(error.get("fix") or "")
        return Outcome(words, code, document, message, fix)
    return Outcome(words, code, document)
