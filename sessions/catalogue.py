"""Every run that can be listed: the task's reference and runs, the workspace's, the added.

A scan reads a folder again only when its files changed or the run may still be moving, so
scanning thousands of settled runs costs a few `stat` calls each.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlhf.runlog import LOG_NAME

from .added import folders
from .decide import is_stale
from .evaluations import Evaluations, attach
from .hashes import FileHashes
from .kept import Entry, Stamp, load, save, stamp_of
from .meta import Standing, Told
from .paths import EVAL_DIR, Workspace
from .rundir import Run, read_run, recipe
from .runfiles import Problem, is_run
from .task import REFERENCE, Task

FEW = 2000  # runs of which something was said: so many are looked at every time
KEEP_FROM = 50  # runs from which on a listing is worth keeping between processes
# whose times tell that a run changed: a file that came, went or was replaced changes its folder
_SIGNED = ("", LOG_NAME, EVAL_DIR)

Where = tuple[Path, str]  # a run's folder and its source


@dataclass(frozen=True)
class Listing:
    """What one scan found: the runs in order, and by id their folders and their recipes.

    Runs with the same recipe differ in nothing but the seed.
    """

    runs: list[Run] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    recipes: dict[str, str | None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Catalogue:
    """Lists the runs of one task and workspace; `scan` and `glance` as often as wanted."""

    def __init__(self, task: Task, workspace: Workspace, extra: Sequence[Path] = ()) -> None:
        self.task = task
        self.workspace = workspace
        self.extra = list(extra)
        self.evaluations = Evaluations(task, workspace)
        self._families = task.families()
        self._scope = [str(task.root.absolute()), *self._families]
        self._seen: dict[str, Entry] = load(workspace.listing, self._scope)
        self._order: list[Where] = []
        self._unsettled: list[Where] = []
        self._parents: list[Stamp] = []
        self._problems: list[Problem] = []
        self._told = Standing(workspace)

    def scan(self) -> Listing:
        """The runs as they are now. Raises TaskError if the task folder is not whole."""
        self.task.check()
        self._parents = self._parent_stamps()
        self._problems = []
        entries: dict[str, Entry] = {}
        order = []
        for where in self._folders(self._problems):
            entry = self._entry(where)
            if entry is not None:
                entries[str(where[0])] = entry
                order.append(where)
        self._told.look()
        self._keep(entries)
        self._seen, self._order = entries, order
        self._unsettled = [where for where in order if not entries[str(where[0])].is_settled]
        listing = self._listing()
        self.evaluations.hashes.save()
        return listing

    def glance(self) -> Listing | None:
        """What `scan` would give, if a run came, went or moved since; else None.

        Cheap: looks at the folders that hold runs and at the runs that may be moving. What
        changes in a settled run is left to the next `scan`.
        """
        if self._parent_stamps() != self._parents:
            return self.scan()
        moved = len(self._told.by_id) < FEW and self._told.look()
        for where in self._unsettled:
            entry = self._entry(where)
            if entry is None:
                return self.scan()
            key = str(where[0])
            if entry != self._seen[key]:
                self._seen[key] = entry
                moved = True
        return self._listing() if moved else None

    def _listing(self) -> Listing:
        listing = Listing(problems=list(self._problems))
        for folder, _ in self._order:
            entry = self._seen[str(folder)]
            _enlist(listing, folder, entry, self._told.by_id, self.evaluations.hashes)
        return listing

    def _keep(self, entries: dict[str, Entry]) -> None:
        """Keep a long listing for the next process, if a settled run is new in it."""
        if len(entries) >= KEEP_FROM and any(
            entry is not self._seen.get(key) for key, entry in entries.items() if entry.is_settled
        ):
            save(self.workspace.listing, self._scope, entries)

    def _parent_stamps(self) -> list[Stamp]:
        places = [self.task.runs, self.workspace.runs, self.workspace.added, *self.extra]
        return [stamp_of(str(place)) for place in [*places, *folders(self.workspace)]]

    def _folders(self, problems: list[Problem]) -> Iterator[Where]:
        """Where runs may be; of the added, not what is shown already."""
        own = list(self._own(problems))
        yield from own
        added = list(self._added(problems))
        shown = {_inode(folder) for folder, _ in own} if added else set()
        for folder, source in added:
            key = _inode(folder)
            if key is None or key not in shown:
                yield folder, source
            shown.add(key)

    def _own(self, problems: list[Problem]) -> Iterator[Where]:
        yield self.task.policy, "shipped"
        for folder in _children(self.task.runs, problems):
            yield folder, "shipped"
        for folder in _children(self.workspace.runs, problems):
            yield folder, "workspace"

    def _added(self, problems: list[Problem]) -> Iterator[Where]:
        for place in [*map(Path, folders(self.workspace, problems)), *self.extra]:
            if is_run(place):
                yield place, "added"
            else:
                for folder in _children(place, problems, missing_is_fine=False):
                    yield folder, "added"

    def _entry(self, where: Where) -> Entry | None:
        """The folder's entry, read anew if need be; None if it holds no run."""
        folder, source = where
        place = str(folder)
        stamps = [stamp_of(f"{place}/{name}") for name in _SIGNED]
        if source != "workspace":
            stamps.append(stamp_of(str(self.workspace.evaluations)))
        known = self._seen.get(place)
        if known and known.stamps == stamps and known.is_settled:
            return known
        if not is_run(folder):
            return None
        problems: list[Problem] = []
        run = read_run(folder, source, self._families, problems)
        if folder == self.task.policy:
            named = {"id": REFERENCE, "name": REFERENCE, "state": "finished"}
            run |= {**named, "reason": None, "step": 0, "steps": 0}
        found = self.evaluations.stored(folder)
        if found is not None:
            attach(run, found)
        return Entry(stamps, run, recipe(folder, self.task.root), problems)


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


def _enlist(
    listing: Listing, folder: Path, entry: Entry, told: Mapping[str, Told], hashes: FileHashes
) -> None:
    """Add a run under an id of its own: two places may hold the same folder name."""
    run = entry.run
    base, count = run["id"], 1
    while run["id"] in listing.folders:
        count += 1
        run = {**run, "id": f"{base}-{count}"}
    said = told.get(run["id"])
    if said is not None:
        run = {**run, "tags": said.tags, **_verdict(said.decision, folder, hashes)}
    listing.folders[run["id"]] = folder
    listing.recipes[run["id"]] = entry.recipe
    listing.runs.append(run)
    listing.problems.extend(entry.problems)


def _verdict(made: Run | None, folder: Path, hashes: FileHashes) -> dict[str, Any]:
    """The decision that stands, and whether the checkpoint is another since."""
    if made is None:
        return {}
    return {"verdict": made["decision"], "verdict_stale": is_stale(made, folder, hashes)}


def _inode(folder: Path) -> tuple[int, int] | None:
    """What a folder is by whichever path; None if it is not there."""
    try:
        stat = os.stat(folder)
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino


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
