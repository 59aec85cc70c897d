"""Ids of runs: short, safe as a file name, made from a free name and never used twice."""

import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

from .errors import SessionError, writing
from .paths import Workspace

ID_LENGTH = 64
ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
TRIES = 10_000


def slug(name: str, fallback: str = "run") -> str:
    """`name` as an id: lower-case ASCII letters, digits, dots and dashes."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    safe = re.sub(r"[^a-z0-9._-]+", "-", plain)
    safe = re.sub(r"-{2,}", "-", safe).lstrip("._-").rstrip("-.")
    return safe[:ID_LENGTH].rstrip("-.") or fallback


def candidate(stem: str, number: int) -> str:
    """The id to try as number 1, 2, ...: the stem, then the stem with a suffix."""
    suffix = "" if number == 1 else f"-{number}"
    return stem[: ID_LENGTH - len(suffix)] + suffix


def taken(workspace: Workspace, identifier: str) -> bool:
    """Whether a run, a job, something in the trash or notes have, or had, this id."""
    trash = workspace.trash
    places = (workspace.runs, workspace.jobs, workspace.grades, trash / "runs", trash / "jobs")
    notes = workspace.meta / f"{identifier}.jsonl"
    return notes.exists() or any((place / identifier).exists() for place in places)


def claim_folder(
    workspace: Workspace, parent: Path, name: str, fill: Callable[[str, Path, Path], None]
) -> str:
    """Make `parent`/ID whole or not at all, and return the ID.

    `fill(id, draft, final)` writes the files into `draft`; they appear at `final` in one rename,
    which only one of two launches of the same name can win.
    """
    stem = slug(name)
    with writing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, TRIES):
        identifier = candidate(stem, number)
        if not taken(workspace, identifier) and _try(parent, identifier, fill):
            return identifier
    raise SessionError(f"no free id for {name!r:.80}: give it another name")


def _try(parent: Path, identifier: str, fill: Callable[[str, Path, Path], None]) -> bool:
    draft, final = parent / f".{identifier}.{secrets.token_hex(4)}.new", parent / identifier
    try:
        with writing(parent):
            draft.mkdir()
        fill(identifier, draft, final)
        return _publish(draft, final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, final: Path) -> bool:
    try:
        os.rename(draft, final)
    except OSError:
        if final.exists():
            return False
        with writing(final):
            raise
    return True
