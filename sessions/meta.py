"""What people say about runs: notes, tags, decisions. One append-only file a run, in W/meta."""

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlhf.runlog import dumps, parse_lines

from .errors import UsageError, writing
from .paths import Workspace
from .record import now, operator
from .runfiles import open_plain

LONGEST_TAG = 64
VERDICTS = ("ship", "hold")
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Meta:
    """A run's rows, oldest first, and the tags that stand."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tags(self) -> list[str]:
        standing: dict[str, None] = {}
        for row in self.rows:
            for tag in _strings(row.get("add")):
                standing[tag] = None
            for tag in _strings(row.get("remove")):
                standing.pop(tag, None)
        return list(standing)

    @property
    def decision(self) -> dict[str, Any] | None:
        """The latest decision that can be read; earlier ones stay in the rows."""
        made = [row for row in self.of_kind("decision") if row.get("decision") in VERDICTS]
        return made[-1] if made else None

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The rows of one kind: note, tag, decision, replay."""
        return [row for row in self.rows if row.get("kind") == kind]


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def path_of(workspace: Workspace, identifier: str) -> Path:
    """Where a run's notes lie; for shipped and added runs too."""
    return workspace.meta / f"{identifier}{SUFFIX}"


def append(workspace: Workspace, identifier: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Add a row, with who and when. Raises SessionError if it cannot be written."""
    row = {"kind": kind, "at": now(), "by": operator(), **fields}
    path = path_of(workspace, identifier)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            # a row that a crash cut short must not swallow this one
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            data = b"\n" * torn + dumps(row).encode() + b"\n"
            written = os.write(handle, data)
            if written < len(data):  # a disk that fills up takes what fits, and says nothing
                os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR) - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
    return row


def read(workspace: Workspace, identifier: str) -> Meta:
    """What was said about a run; rows that cannot be read are left out."""
    try:
        with open_plain(path_of(workspace, identifier)) as file:
            return Meta(parse_lines(file).rows)
    except OSError:
        return Meta()


@dataclass(frozen=True)
class Told:
    """What stands of what was said about a run: its tags and the latest decision."""

    tags: list[str]
    decision: dict[str, Any] | None


class Standing:
    """What stands of every run of which anything was said, read again only where it changed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stamps: dict[str, tuple[int, int]] = {}
        self.by_id: dict[str, Told] = {}

    def look(self) -> bool:
        """Read what changed; whether anything did."""
        stamps = dict(self._stamped())
        if stamps == self._stamps:
            return False
        for name in stamps:
            if stamps[name] != self._stamps.get(name):
                meta = read(self._workspace, name)
                self.by_id[name] = Told(meta.tags, meta.decision)
        self.by_id = {name: self.by_id[name] for name in stamps}
        self._stamps = stamps
        return True

    def _stamped(self) -> Iterator[tuple[str, tuple[int, int]]]:
        try:
            with os.scandir(self._workspace.meta) as found:
                for entry in found:
                    if entry.name.endswith(SUFFIX):
                        stat = entry.stat()
                        yield entry.name.removesuffix(SUFFIX), (stat.st_mtime_ns, stat.st_size)
        except OSError:
            return


def says_something(text: str) -> bool:
    """Whether there is anything in it to see: not only spaces, controls, characters of no width."""
    return any(character.isprintable() and not character.isspace() for character in text)


def note(workspace: Workspace, identifier: str, text: str) -> None:
    """Add a note. Raises UsageError if it is empty."""
    if not says_something(text):
        raise UsageError("a note needs some text")
    append(workspace, identifier, "note", text=text)


def tag(
    workspace: Workspace, identifier: str, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> list[str]:
    """Add and remove tags; the tags that then stand. Raises UsageError for one without text."""
    for name in add:
        if not says_something(name) or len(name) > LONGEST_TAG:
            raise UsageError(f"a tag has 1 to {LONGEST_TAG} characters, found {name!r:.80}")
    append(workspace, identifier, "tag", add=list(add), remove=list(remove))
    return read(workspace, identifier).tags
