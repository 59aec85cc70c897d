"""Tail statistics of score files: computed by a child, kept by the content of the files.

The document is what `python -m rlhf.analysis.tails` writes; here it is only passed on, with the
names of the sources put in, since the same content may go by other names another day.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.runlog import write_json

from .analysis import analyse
from .errors import InputError, SessionError
from .hashes import key_of
from .paths import Workspace
from .runfiles import read_object
from .scores import ScoreFiles
from .task import REFERENCE, Task

FORMAT = 1
MADE_BY = 5  # goes up when the same files would give another document
MOST = 9  # score files on one axis, the reference included

Document = dict[str, Any]


class Source(NamedTuple):
    """A score file and what it is called."""

    name: str
    file: Path


class Wanted(NamedTuple):
    """A policy whose scores are wanted: its name and its folder."""

    name: str
    folder: Path


class Tails:
    """The tails of one task's checkpoints, and of score files from elsewhere."""

    def __init__(self, task: Task, workspace: Workspace, keep: bool = True) -> None:
        self.scores = ScoreFiles(task, workspace)
        self.reference = Wanted(REFERENCE, task.policy)
        self._folder, self._keep = workspace.tails, keep

    def beside(self, runs: Sequence[Wanted]) -> list[Wanted]:
        """The reference and the runs; a run that is the reference is not there twice."""
        own = self.reference.folder.resolve()
        return [self.reference, *(run for run in runs if run.folder.resolve() != own)]

    def stored(self, wanted: Sequence[Wanted]) -> tuple[list[Source], list[Wanted]]:
        """The sources whose score files are there, and those that must be measured first."""
        there: list[Source] = []
        lacking: list[Wanted] = []
        for one in wanted:
            file = self.scores.stored(one.folder)
            if file is None:
                lacking.append(one)
            else:
                there.append(Source(one.name, file))
        return there, lacking

    def document(
        self,
        sources: Sequence[Source],
        with_reference: bool,
        cancel: threading.Event | None = None,
    ) -> Document:
        """The tails of the files on one axis; with a reference, it is the first of them.

        The reference is left out where it is no match for the files: `alone` then says why, and
        says it too where none was given.
        Takes half a second the first time. Raises InputError for a file that cannot be used,
        SessionError if the child cannot run, EvaluationError if it is cancelled.
        """
        if not sources:
            raise InputError("there is no score file to look at")
        if len(sources) > MOST:
            raise InputError(
                f"{len(sources)} score files are too many for one axis: at most {MOST}"
            )
        kept = self._folder / f"{self._key(sources, with_reference)}.json"
        found = read_object(kept, [])
        if found is None or not is_whole(found, len(sources)):
            found = self._computed(sources, with_reference, cancel)
            if self._keep:
                with suppress(OSError):  # a cache that cannot be written costs only time
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    write_json(kept, found)
                self.scores.hashes.save()
        for about, source in zip(found["sources"], shown(found, sources), strict=True):
            about |= {"name": source.name, "path": str(source.file)}
        return found

    def _key(self, sources: Sequence[Source], with_reference: bool) -> str:
        try:
            contents = [self.scores.hashes.of(source.file) for source in sources]
        except OSError as error:
            raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
        return key_of([MADE_BY, with_reference, *contents])

    def _computed(
        self, sources: Sequence[Source], with_reference: bool, cancel: threading.Event | None
    ) -> Document:
        paths = [str(source.file) for source in sources]
        if with_reference and len(paths) > 1:
            paths[:1] = ["--reference", paths[0]]
        found = analyse("tails", paths, cancel)
        if not is_whole(found, len(sources)):
            raise SessionError("the tails came out in no usable form")
        return found


def shown(found: Document, sources: Sequence[Source]) -> Sequence[Source]:
    """Those of the sources that the document is of: all, or all but the reference."""
    return sources[len(sources) - len(found["sources"]) :]


def is_whole(found: Document, sources: int) -> bool:
    """Whether a document has what its readers rely on, for so many sources."""
    families, about = found.get("families"), found.get("sources")
    return (
        found.get("format") == FORMAT
        and isinstance(about, list)
        and len(about) in (sources, sources - bool(found.get("alone")))
        and isinstance(found.get("edges"), list)
        and isinstance(families, dict)
        and all(isinstance(one, list) and len(one) == len(about) for one in families.values())
    )


class Bin(NamedTuple):
    """Part of a family's histogram: scores from `low` to `high`, `high` itself if `closed`."""

    family: str
    low: float
    high: float
    closed: bool = False


def rows_behind(file: Path, part: Bin, cancel: threading.Event | None = None) -> Document:
    """{total, rows}: the first 200 responses behind a bin, as rlhf.analysis.score_rows has them.

    Raises InputError, SessionError or EvaluationError as `Tails.document` does.
    """
    # one word each, so that a family called --out, or a score below zero, is no option
    words = [str(file), f"--family={part.family}", f"--low={part.low!r}", f"--high={part.high!r}"]
    words += ["--closed"] if part.closed else []
    found = analyse("score_rows", words, cancel)
    if not isinstance(found.get("rows"), list):
        raise SessionError("the responses came out in no usable form")
    return found
