"""Grades one submission folder, end to end."""

import contextlib
import errno
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import submission as submissions
from .arena import Arena
from .checkpoint import measure
from .decision import decision
from .diagnose import Narrate, diagnose
from .diagnosis import diagnosis
from .errors import IsolationError
from .facts import Diagnosis, Measured, Truth
from .part import COMPONENTS, PARTS, Component, Part, skipped
from .progress import progress
from .reporting import reporting
from .sandbox.allow import View, make_view
from .sandbox.launch import Launcher
from .sandbox.level import layers
from .sandbox.limits import Limits
from .sandbox.proof import Isolation, prove
from .snapshot import NO_ROOM
from .submission import Submission

_OF_CHECKPOINT = {"P", "D1", "D3a", "D3b", "R1", "R2"}
_NO_PANDAS = "pandas is not installed, a diagnostic may need it: pip install 'rlhf-tui[grade]'"


@dataclass(frozen=True)
class Options:
    """What to run and how. `parts` names those that are wanted."""

    parts: frozenset[str] = frozenset(PARTS)
    allow_unprotected: bool = False
    limits: Limits = Limits()

    @property
    def measures(self) -> bool:
        """Whether a part is wanted that looks at the checkpoint."""
        return bool(self.parts & _OF_CHECKPOINT)

    @property
    def diagnoses(self) -> bool:
        return bool(self.parts & set(COMPONENTS["diagnosis"]))


@dataclass
class Grade:
    """Everything that a grade reports. `reward` is None if a part was not run."""

    submission: Submission
    components: list[Component]
    said: dict[str, Diagnosis]
    isolation: Isolation | None
    limits: Limits  # of each run of the diagnostic
    hashes: dict[str, str]
    seeds: dict[str, int]
    notes: list[str]
    timing: dict[str, float] = field(default_factory=dict)

    @property
    def invalid(self) -> bool:
        return self.submission.invalid

    @property
    def reward(self) -> float | None:
        if self.invalid:
            return 0.0
        if any(component.score is None for component in self.components):
            return None
        return sum(component.weight * (component.score or 0.0) for component in self.components)


class _Clock:
    """Seconds of each stage, and a line to whoever waits when one begins."""

    def __init__(self, narrate: Narrate) -> None:
        self.narrate = narrate
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str, line: str) -> Iterator[None]:
        self.narrate(line)
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - began, 3)


def _chosen(component: Component, wanted: frozenset[str]) -> Component:
    parts = [p if p.name in wanted else skipped(p.name, p.weight) for p in component.parts]
    return Component(component.name, component.weight, parts)


def _score(
    submission: Submission,
    measured: Measured,
    said: dict[str, Diagnosis],
    truth: Truth,
    parts: frozenset[str],
) -> list[Component]:
    never = {name: Diagnosis(name, "missing", "not run") for name in truth.planted}
    components = [
        progress(measured, truth),
        decision(submission, measured, truth),
        diagnosis(never | said, truth),
        reporting(submission, measured),
    ]
    return [_chosen(component, parts) for component in components]


def _diagnose(
    submission: Submission, arena: Arena, options: Options, work: Path, clock: _Clock
) -> tuple[dict[str, Diagnosis], Isolation, View]:
    """Prove the sandbox, then run the diagnostic in it."""
    task, view = arena.export(work / "task"), make_view(work / "view")
    launcher = Launcher(view, layers())
    try:
        with clock.stage("canary", "proving the sandbox"):
            secrets = [str(path) for path in arena.secrets()]
            unprotected = options.allow_unprotected
            isolation = prove(launcher, work / "canary", task, unprotected, secrets)
        with clock.stage("diagnostic", f"running the diagnostic ({isolation.level})"):
            copy, rms, tell = submission.snapshot, arena.reward_models(), clock.narrate
            said = diagnose(launcher, copy, task, rms, work, tell, options.limits)
    finally:
        launcher.end_all()
    return said, isolation, view


@contextlib.contextmanager
def _workshop() -> Iterator[Path]:
    """A private folder for the copies and runs of one grade, removed afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as name:
            work = Path(name).resolve()
            work.chmod(0o711)  # its user, where that is another, reaches what it is given
            yield work
    except OSError as error:
        if error.errno not in (*NO_ROOM, errno.EROFS):
            raise
        fix = "free some disk, or point TMPDIR elsewhere"
        raise IsolationError(f"cannot work in {tempfile.gettempdir()}: {error}", fix=fix) from None


def grade(source: Path, arena: Arena, options: Options, narrate: Callable[[str], None]) -> Grade:
    """Grade the folder `source` against `arena`. Raises GraderError if that cannot be done.

    Truth is read only after everything of the submission has ended.
    """
    clock = _Clock(narrate)
    said: dict[str, Diagnosis] = {}
    isolation, notes = None, []
    with _workshop() as work:
        (work / "submission").mkdir()
        with clock.stage("read", f"reading {source.name}"):
            submission = submissions.read(source, work / "submission")
        if options.diagnoses and not submission.invalid:
            said, isolation, view = _diagnose(submission, arena, options, work, clock)
            notes = [_NO_PANDAS] if "pandas" in view.absent else []
        measured = Measured(None, why="not measured")
        if options.measures:
            with clock.stage("checkpoint", "measuring the checkpoint"):
                measured = measure(submission, arena)
        with clock.stage("score", "scoring"):
            truth = arena.truth()
            components = _score(submission, measured, said, truth, options.parts)
    hashes: dict[str, Any] = {"submission": submission.snapshot.digest, **arena.hashes()}
    seeds = arena.seeds()
    found = (submission, components, said, isolation, options.limits, hashes, seeds, notes)
    return Grade(*found, timing=clock.seconds)


def wanted_parts(names: tuple[str, ...]) -> frozenset[str]:
    """The parts that names of components and parts mean; all of them for none. Raises KeyError."""
    chosen: set[str] = set()
    for name in names:
        if name not in COMPONENTS and name not in PARTS:
            raise KeyError(name)
        chosen.update(COMPONENTS.get(name, (name,)))
    return frozenset(chosen or PARTS)


def part_of(grade: Grade, name: str) -> Part:
    """A part by its name."""
    return next(p for component in grade.components for p in component.parts if p.name == name)
