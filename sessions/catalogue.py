"""Every run that can be listed: the task's reference and runs, the workspace's, the added.

A scan reads a folder again only when its files changed or the run may still be moving, so
scanning thousands of settled runs costs a few `stat` calls each.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlhf.runlog import CONFIG_NAME, DONE_NAME, LOG_NAME, replace_file

from .evaluations import Evaluations, attach
from .paths import EVAL_DIR, RUN_RECORD, Workspace
from .rundir import DEV_NAME, POLICY_NAME, Problem, Run, read_object, read_run
from .states import LIVE
from .task import Task

REFERENCE = "reference"
FORMAT = 1  # of the kept listing; raised when what a run's facts hold changes
KEEP_FROM = 50  # runs from which on a listing is worth keeping between processes
_MARKS = (RUN_RECORD, CONFIG_NAME, LOG_NAME, POLICY_NAME)  # any of them makes a folder a run
_SIGNED = (*_MARKS, DEV_NAME, DONE_NAME, EVAL_DIR)

Stamp = list[int] | None  # modification time in ns, size
Entry = tuple[list[Stamp], Run, list[Problem]]


@dataclass(frozen=True)
class Listing:
    """What one scan found: the runs in order, their folders by id, what could not be read."""

    runs: list[Run] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Catalogue:
    """Lists the runs of one task and workspace; `scan` as often as wanted."""

    def __init__(self, task: Task, workspace: Workspace, extra: Sequence[Path] = ()) -> None:
        self.task = task
        self.workspace = workspace
        self.extra = list(extra)
        self.evaluations = Evaluations(task, workspace)
        self._families = task.families()
        self._seen: dict[str, Entry] = _load(workspace.listing, self._scope())

    def scan(self) -> Listing:
        """The runs as they are now. Raises TaskError if the task folder is not whole."""
        self.task.check()
        entries: dict[str, Entry] = {}
        listing = Listing()
        for folder, source in self._folders(listing.problems):
            entry = self._entry(folder, source)
            if entry is not None:
                entries[str(folder)] = entry
                _enlist(listing, folder, entry)
        changed = entries.keys() != self._seen.keys() or any(
            entry is not self._seen[key] for key, entry in entries.items()
        )
        self._seen = entries
        if changed and len(entries) >= KEEP_FROM:
            _save(self.workspace.listing, self._scope(), entries)
        self.evaluations.hashes.save()
        return listing

    def _scope(self) -> list[str]:
        return [str(self.task.root.absolute()), *self._families]

    def _folders(self, problems: list[Problem]) -> Iterator[tuple[Path, str]]:
        yield self.task.policy, "shipped"
        for folder in _children(self.task.runs, problems):
            yield folder, "shipped"
        for folder in _children(self.workspace.runs, problems):
            yield folder, "workspace"
        for place in [*added(self.workspace, problems), *self.extra]:
            if any((place / mark).exists() for mark in _MARKS):
                yield place, "added"
            else:
                for folder in _children(place, problems, missing_is_fine=False):
                    yield folder, "added"

    def _entry(self, folder: Path, source: str) -> Entry | None:
        """The folder's entry, read anew if need be; None if it holds no run."""
        stamps = [_stamp(f"{folder}/{name}") for name in _SIGNED]
        if not any(stamps[: len(_MARKS)]):
            return None
        if source != "workspace":
            stamps.append(_stamp(str(self.workspace.evaluations)))
        known = self._seen.get(str(folder))
        if known and known[0] == stamps and known[1]["state"] not in LIVE and not known[2]:
            return known
        problems: list[Problem] = []
        is_reference = folder == self.task.policy
        run = self._reference() if is_reference else self._run(folder, source, problems)
        return stamps, run, problems

    def _run(self, folder: Path, source: str, problems: list[Problem]) -> Run:
        run = read_run(folder, source, self._families, problems)
        return self._evaluated(run, folder)

    def _reference(self) -> Run:
        run = read_run(self.task.policy, "shipped", self._families, [])
        run |= {"id": REFERENCE, "name": REFERENCE, "state": "finished", "step": 0, "steps": 0}
        return self._evaluated(run, self.task.policy)

    def _evaluated(self, run: Run, folder: Path) -> Run:
        found = self.evaluations.stored(folder)
        if found is not None:
            attach(run, found)
        return run


def added(workspace: Workspace, problems: list[Problem]) -> list[Path]:
    """The folders that `add` recorded in this workspace."""
    record = read_object(workspace.added, problems) or {}
    folders = record.get("folders")
    return [Path(f) for f in folders if isinstance(f, str)] if isinstance(folders, list) else []


def find(listing: Listing, run: str) -> str:
    """The id that `run`, an id, a unique prefix of one, or a folder, means. Raises LookupError."""
    if run in listing.folders:
        return run
    starting = [key for key in listing.folders if run and key.startswith(run)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise LookupError(f"{run!r} could be {', '.join(starting[:4])}: give more of the id")
    with suppress(OSError, ValueError):
        place = Path(run).resolve()
        for key, folder in listing.folders.items():
            if folder.resolve() == place:
                return key
    raise LookupError(f"no run is called {run!r}: `rlhf-tui runs` lists them")


def _enlist(listing: Listing, folder: Path, entry: Entry) -> None:
    """Add a run under an id of its own: two places may hold the same folder name."""
    run, problems = entry[1], entry[2]
    base, count = run["id"], 1
    while run["id"] in listing.folders:
        count += 1
        run = {**run, "id": f"{base}-{count}"}
    listing.folders[run["id"]] = folder
    listing.runs.append(run)
    listing.problems.extend(problems)


def _children(place: Path, problems: list[Problem], missing_is_fine: bool = True) -> Iterator[Path]:
    try:
        with os.scandir(place) as found:
            names = sorted(entry.name for entry in found if not entry.name.startswith("."))
    except FileNotFoundError:
        if not missing_is_fine:
            problems.append({"path": str(place), "message": "is not there any more"})
        return
    except OSError as error:
        problems.append({"path": str(place), "message": f"cannot be listed: {error.strerror}"})
        return
    for name in names:
        yield place / name


def _stamp(path: str) -> Stamp:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return [stat.st_mtime_ns, stat.st_size]


def _load(path: Path, scope: list[str]) -> dict[str, Entry]:
    """The kept listing; empty if there is none, it is damaged, or it is of another task."""
    try:
        digest, _, payload = path.read_bytes().partition(b"\n")
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            return {}
        kept: dict[str, Any] = json.loads(payload)
    except (OSError, ValueError):
        return {}
    if kept.get("format") != FORMAT or kept.get("scope") != scope:
        return {}
    return {key: tuple(entry) for key, entry in kept["entries"].items()}


def _save(path: Path, scope: list[str], entries: dict[str, Entry]) -> None:
    payload = json.dumps({"format": FORMAT, "scope": scope, "entries": entries}).encode()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
