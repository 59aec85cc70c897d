"""Kept grades, submissions and gradings under way, as the workspace's files tell.

The grader writes a grade's document; everything in it may come from a submission, so nothing
of its shape is taken for granted.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlhf.runlog import DONE_NAME, write_json

from .errors import UsageError, writing
from .evidence import judge
from .paths import GRADE_RECORD, OUTPUT_LOG, RUN_RECORD, Workspace
from .runfiles import mtime, read_object, text

KIND = "grade"
SOURCE_NAME = "source.json"  # beside a kept grade: the folder that was graded
OUTPUTS = "output"  # beside it: what the diagnostic printed about each RM
TAIL_BYTES = 1 << 14
MOST_OUTPUTS = 32

Document = dict[str, Any]
Stamp = tuple[float | None, float | None]  # when record and receipt were written


@dataclass(frozen=True)
class Kept:
    """A kept grade: its id, and when it was written, in seconds since the epoch."""

    id: str
    at: float


@dataclass(frozen=True)
class Grading:
    """A grading without a grade: it waits, runs, or ended without one. `said` is its narration."""

    id: str
    name: str
    folder: str
    state: str
    reason: str | None
    created: str | None
    started: str | None
    said: tuple[str, ...]


@dataclass(frozen=True)
class Shelf:
    """What there is to grade, what is being graded, and what was; newest first."""

    submissions: tuple[str, ...] = ()
    gradings: tuple[Grading, ...] = ()
    kept: tuple[Kept, ...] = ()


class Watch:
    """Looks at the shelf again and again; what is settled is read once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._graded: set[str] = set()  # jobs that led to a grade or are none of ours
        self._ended: dict[str, tuple[Stamp, Grading]] = {}
        self._kept: tuple[Kept, ...] = ()
        self._stamp = -1

    def look(self) -> Shelf:
        """The shelf as it is now."""
        return Shelf(tuple(submissions(self._workspace)), self._gradings(), self._grades())

    def _grades(self) -> tuple[Kept, ...]:
        try:
            stamp = self._workspace.grades.stat().st_mtime_ns
        except OSError:
            return ()
        if stamp != self._stamp or any(not one.at for one in self._kept):
            self._stamp, self._kept = stamp, tuple(kept(self._workspace))
        return self._kept

    def _gradings(self) -> tuple[Grading, ...]:
        found = []
        for name in _names(self._workspace.jobs):
            if name not in self._graded:
                grading = self._known(name)
                found += [grading] if grading else []
        return tuple(sorted(found, key=lambda one: one.created or "", reverse=True))

    def _known(self, name: str) -> Grading | None:
        """The grading; one that ended is read again when its record or receipt is another."""
        folder = self._workspace.jobs / name
        stamp = mtime(folder / RUN_RECORD), mtime(folder / DONE_NAME)
        if name in self._ended and self._ended[name][0] == stamp:
            return self._ended[name][1]
        grading = self._grading(folder)
        if grading is not None and grading.state in ("failed", "stopped", "lost"):
            self._ended[name] = stamp, grading
        return grading

    def _grading(self, folder: Path) -> Grading | None:
        record = read_object(folder / RUN_RECORD, [])
        if record is None or record.get("kind") != KIND or (folder / GRADE_RECORD).exists():
            if record is not None:
                self._graded.add(folder.name)
            return None
        return _grading_of(folder, record)


def _grading_of(folder: Path, record: Document) -> Grading:
    state, reason = judge(folder, record, read_object(folder / DONE_NAME, []), [])
    told = [text(record.get(key)) for key in ("name", "submission", "created", "started")]
    name, place = told[0] or folder.name, told[1] or ""
    said = tuple(_tail(folder / OUTPUT_LOG))
    return Grading(folder.name, name, place, state, reason, told[2], told[3], said)


def _tail(path: Path) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            return file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []


def _names(place: Path) -> list[str]:
    try:
        with os.scandir(place) as found:
            return sorted(entry.name for entry in found if not entry.name.startswith("."))
    except OSError:
        return []


def kept(workspace: Workspace) -> Iterator[Kept]:
    """The kept grades, newest first. One that is being written has no time yet."""
    found = [Kept(name, written_at(workspace, name)) for name in _names(workspace.grades)]
    yield from sorted(found, key=lambda one: (one.at, one.id), reverse=True)


def written_at(workspace: Workspace, identifier: str) -> float:
    """When a grade was written, in seconds since the epoch; 0 while it is not there."""
    try:
        return os.stat(workspace.grades / identifier / GRADE_RECORD).st_mtime
    except OSError:
        return 0.0


def read_grade(workspace: Workspace, identifier: str) -> Document:
    """A kept grade's document, with `folder` and `output` as kept beside it.

    One that cannot be read has a `problem` instead.
    """
    place, problems = workspace.grades / identifier, []  # type: ignore[var-annotated]
    document = read_object(place / GRADE_RECORD, problems)
    source = read_object(place / SOURCE_NAME, []) or {}
    beside = {"folder": text(source.get("folder")), "output": dict(_outputs(place / OUTPUTS))}
    if document is None or not isinstance(document.get("components"), dict):
        why = problems[0]["message"] if problems else "holds no whole grade: it was cut short"
        return {**beside, "problem": f"{GRADE_RECORD} {why}"}
    return {**document, **beside}


def _outputs(place: Path) -> Iterator[tuple[str, str]]:
    for name in _names(place)[:MOST_OUTPUTS]:
        yield name.removesuffix(".txt"), "\n".join(_tail(place / name))


def submissions(workspace: Workspace) -> Iterator[str]:
    """The folders there are to grade: those of the workspace, then those named elsewhere."""
    for name in _names(workspace.submissions):
        if (workspace.submissions / name).is_dir():
            yield str(workspace.submissions / name)
    yield from _remembered(workspace)


def _remembered(workspace: Workspace) -> list[str]:
    found = (read_object(workspace.graded_folders, []) or {}).get("folders")
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def locate(workspace: Workspace, folder: Path) -> Path:
    """The folder that is meant: a bare name may be a submission's, where no such folder is here."""
    here, kept = folder.expanduser().absolute(), workspace.submissions / folder
    bare = len(folder.parts) == 1 and not here.is_dir()
    return kept if bare and kept.is_dir() else here


def remember(workspace: Workspace, folder: Path) -> str:
    """Show this folder among the submissions from now on. Raises UsageError if it is none."""
    place = locate(workspace, folder)
    if not place.is_dir():
        told = f", nor is {workspace.submissions / folder}" if len(folder.parts) == 1 else ""
        raise UsageError(f"{folder} is not a folder{told}", str(folder))
    known = _remembered(workspace)
    if str(place) not in known and place.parent != workspace.submissions.absolute():
        with writing(workspace.graded_folders):
            workspace.root.mkdir(parents=True, exist_ok=True)
            write_json(workspace.graded_folders, {"format": 1, "folders": [*known, str(place)]})
    return str(place)
