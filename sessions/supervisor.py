"""The supervisor's loop: one process a core, each attempt begun once, nothing kept in memory
that the files do not tell again.

A killed supervisor costs nothing: runs live in their own sessions, the queue keeps an entry for
each until it has ended, and the next supervisor adopts what still lives.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import queue
from .afterwards import next_check
from .child import environment
from .ending import keep_ending
from .errors import SessionError, no_room
from .identity import Process, alive, parse
from .paths import Workspace
from .record import Record, load, locked, now
from .supervise import python_environment, take_lock

TICK_S = 0.2
FIRST_PAUSE_S = 1.0  # before a start that failed is tried again; doubled each time
LONGEST_PAUSE_S = 60.0
SETTLE_S = 2.0  # a folder's time of change may be this coarse
NICENESS = 10  # of the supervisor and so of all it starts


def cores() -> int:
    """Processes that may run at once: one a core that we may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Slot:
    """What occupies a core: a child of ours, or an adopted process."""

    child: subprocess.Popen[bytes] | None
    folder: Path
    attempt: int = 0  # 0: adopted, or a check after the run


@dataclass
class Retry:
    """When a start that failed may be tried again (monotonic seconds)."""

    pause: float = FIRST_PAUSE_S
    at: float = 0.0


@dataclass
class Supervisor:
    """The state of one supervising process; all of it can be found again from the files."""

    workspace: Workspace
    capacity: int = field(default_factory=cores)
    slots: dict[str, Slot] = field(default_factory=dict)
    retries: dict[str, Retry] = field(default_factory=dict)
    checked: set[tuple[str, str]] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)  # looked at, and not begun
    _line: list[queue.Entry] = field(default_factory=list)
    _stamp: int = -1
    _fresh_until: float = 0.0

    def tick(self) -> bool:
        """Look once at everything. False when there is nothing left to do."""
        for identifier in list(self.slots):
            self._look(identifier)
        paused, work = queue.paused(self.workspace), bool(self.slots)
        for entry in self.line():
            work |= self._advance(entry, paused)
        return work

    def _advance(self, entry: queue.Entry, paused: bool) -> bool:
        """Do what can be done for one entry; whether more is to come."""
        if entry.id in self.slots or not entry.folder.is_dir():
            return True
        if entry.id in self.waiting and (paused or not self._free()):
            return not paused
        try:
            return self._consider(entry, paused)
        except (SessionError, OSError) as error:
            with suppress(OSError):  # the narration may lie on the full disk it is about
                print(f"{now()} {entry.id}: {error}", file=sys.stderr, flush=True)
            self.waiting.add(entry.id)
            return False

    def line(self) -> list[queue.Entry]:
        """The queue's entries, read again while its folder changes."""
        try:
            stamp = self.workspace.queue.stat().st_mtime_ns
        except OSError:
            stamp = 0
        if stamp != self._stamp:
            self._stamp, self._fresh_until = stamp, time.monotonic() + SETTLE_S
        if time.monotonic() <= self._fresh_until:
            self._line = queue.entries(self.workspace)
        return self._line

    def _look(self, identifier: str) -> None:
        """Free the slot of what has ended, and keep how it ended if that was seen."""
        slot = self.slots[identifier]
        if slot.child is None:
            record = _load(slot.folder)
            if record is not None and _lives(record):
                return
        elif slot.child.poll() is None or not self._kept(slot, slot.child):
            return
        del self.slots[identifier]
        self.waiting.discard(identifier)

    def _kept(self, slot: Slot, child: subprocess.Popen[bytes]) -> bool:
        """Keep how an attempt ended; False while the disk is too full for that."""
        try:
            if slot.attempt and not keep_ending(slot.folder, slot.attempt, child):
                self._postpone(slot.folder.name)
        except SessionError as error:
            return not no_room(error)
        return True

    def _postpone(self, identifier: str) -> None:
        retry = self.retries.setdefault(identifier, Retry())
        retry.at = time.monotonic() + retry.pause
        retry.pause = min(2 * retry.pause, LONGEST_PAUSE_S)

    def _consider(self, entry: queue.Entry, paused: bool) -> bool:
        """Start, adopt, check or drop what an entry of the line stands for."""
        record = load(entry.folder)
        if record is None or record["cancelled"]:
            return self._drop(entry)
        if record["process"] is None:
            self.waiting.add(entry.id)
            return not paused and self._start(entry, record["attempt"])
        self.waiting.discard(entry.id)
        lives = _lives(record)
        if lives:
            self.slots[entry.id] = Slot(None, entry.folder)
        return self._after(entry, record) if lives is False else bool(lives)

    def _drop(self, entry: queue.Entry) -> bool:
        """Take what has ended out of the line, unless it was resumed a moment ago."""
        with locked(entry.folder):
            record = load(entry.folder)
            goes_on = record is not None and not record["cancelled"]
            if record is not None and goes_on and (not record["process"] or _lives(record)):
                return True
            queue.remove(self.workspace, entry.id)
        return False

    def _free(self) -> bool:
        return len(self.slots) < self.capacity

    def _start(self, entry: queue.Entry, attempt: int) -> bool:
        retry = self.retries.get(entry.id)
        if self._free() and (retry is None or time.monotonic() >= retry.at):
            words = ["-m", "sessions", "execute", str(entry.folder), str(attempt)]
            try:
                child = _spawn([sys.executable, "-P", *words], python_environment())
            except OSError:
                self._postpone(entry.id)
            else:
                self.slots[entry.id] = Slot(child, entry.folder, attempt)
        return True

    def _after(self, entry: queue.Entry, record: Record) -> bool:
        """What follows a run's end: each check once, then its entry goes."""
        check = next_check(entry.folder, record)
        if check is None or (entry.id, check.name) in self.checked:
            return self._drop(entry)
        if self._free():
            self.checked.add((entry.id, check.name))
            child = _spawn(check.command, environment(entry.folder, record))
            self.slots[entry.id] = Slot(child, entry.folder)
        return True


def _spawn(command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
    """A child in a session of its own; what it prints before it has its log goes to ours."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, env=env, cwd="/", start_new_session=True
    )


def _load(folder: Path) -> Record | None:
    with suppress(SessionError):
        return load(folder)
    return None


def _lives(record: Record) -> bool | None:
    """Whether the record's process runs; None if it is another host's."""
    process: Process | None = parse(record["process"])
    return False if process is None else alive(process)


def supervise(workspace: Workspace) -> None:
    """Run the line until nothing is left to do, or until TERM. Runs go on without us."""
    lock = take_lock(workspace)
    if lock is None:
        return
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: told.append(number))
    os.nice(NICENESS)
    loop = Supervisor(workspace)
    while not told:
        before = _shape(workspace)
        if not loop.tick() and _leave(workspace, before, lock):
            return
        time.sleep(TICK_S)


def _shape(workspace: Workspace) -> tuple[int, list[str]]:
    """What changes whenever somebody joins, moves or unpauses the line."""
    try:
        return workspace.queue.stat().st_mtime_ns, sorted(os.listdir(workspace.queue))
    except OSError:
        return 0, []


def _leave(workspace: Workspace, before: tuple[int, list[str]], lock: int) -> bool:
    """Give the lock back while nobody can join the line, unless somebody just did."""
    with queue.locked(workspace):
        if _shape(workspace) != before:
            return False
        os.close(lock)
        return True
