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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import queue
from .afterwards import next_check
from .errors import SessionError
from .identity import Process, alive, parse
from .paths import Workspace
from .record import Record, load, now, update
from .supervise import NARRATION, python_environment, take_lock

TICK_S = 0.2
FIRST_PAUSE_S = 1.0  # before a start that failed is tried again; doubled each time
LONGEST_PAUSE_S = 60.0


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
    attempt: int = 0  # 0: a check after the run, not the run
    check: str = ""


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

    def tick(self) -> bool:
        """Look once at everything. False when there is nothing left to do."""
        for identifier in list(self.slots):
            self._look(identifier)
        line = queue.entries(self.workspace)
        for entry in line:
            if entry.id not in self.slots and entry.folder.is_dir():
                with suppress(SessionError):
                    self._consider(entry)
        return bool(self.slots) or bool(line and not queue.paused(self.workspace))

    def _look(self, identifier: str) -> None:
        """Free the slot of what has ended, and keep how it ended if that was seen."""
        slot = self.slots[identifier]
        if slot.child is None:
            record = _load(slot.folder)
            if record is not None and _lives(record):
                return
        elif slot.child.poll() is None:
            return
        elif slot.attempt:
            self._ended(slot.folder, slot.child, slot.attempt)
        del self.slots[identifier]

    def _ended(self, folder: Path, child: subprocess.Popen[bytes], attempt: int) -> None:
        def keep(record: Record) -> bool | None:
            process = parse(record["process"])
            if record["attempt"] != attempt or process is None or process.pid != child.pid:
                return False
            record["exit"] = _exit(child.returncode)
            return None

        with suppress(SessionError):
            if update(folder, keep) is None:
                self._postpone(folder.name)

    def _postpone(self, identifier: str) -> None:
        retry = self.retries.setdefault(identifier, Retry())
        retry.at = time.monotonic() + retry.pause
        retry.pause = min(2 * retry.pause, LONGEST_PAUSE_S)

    def _consider(self, entry: queue.Entry) -> None:
        """Start, adopt, check or drop what an entry of the line stands for."""
        record = load(entry.folder)
        if record is None or record["cancelled"]:
            queue.remove(self.workspace, entry.id)
        elif record["process"] is None:
            self._start(entry, record["attempt"])
        elif _lives(record):
            self.slots[entry.id] = Slot(None, entry.folder)
        else:
            self._after(entry, record)

    def _free(self) -> bool:
        return len(self.slots) < self.capacity

    def _start(self, entry: queue.Entry, attempt: int) -> None:
        retry = self.retries.get(entry.id)
        waits = retry is not None and time.monotonic() < retry.at
        if queue.paused(self.workspace) or waits or not self._free():
            return
        child = _spawn([sys.executable, "-P", "-m", "sessions", "execute", str(entry.folder), str(attempt)])
        self.slots[entry.id] = Slot(child, entry.folder, attempt)

    def _after(self, entry: queue.Entry, record: Record) -> None:
        """What follows a run's end: each check once, then its entry goes."""
        check = next_check(entry.folder, record)
        if check is None or (entry.id, check.name) in self.checked:
            queue.remove(self.workspace, entry.id)
        elif self._free():
            self.checked.add((entry.id, check.name))
            self.slots[entry.id] = Slot(_spawn(check.command), entry.folder, check=check.name)


def _spawn(command: list[str]) -> subprocess.Popen[bytes]:
    """A child in a session of its own; what it prints before it has its log goes to ours."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, env=python_environment(), cwd="/", start_new_session=True
    )


def _load(folder: Path) -> Record | None:
    with suppress(SessionError):
        return load(folder)
    return None


def _lives(record: Record) -> bool:
    """Whether the record's process runs, here or, for all we can know, on another host."""
    process: Process | None = parse(record["process"])
    return process is not None and alive(process) is not False


def _exit(code: int) -> dict[str, int | str | None]:
    number = -code if code < 0 else None
    return {"code": None if code < 0 else code, "signal": number, "at": now()}


def supervise(workspace: Workspace) -> None:
    """Run the line until nothing is left to do, or until TERM. Runs go on without us."""
    lock = take_lock(workspace)
    if lock is None:
        return
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: told.append(number))
    loop = Supervisor(workspace)
    while not told:
        if not loop.tick() and _leave(loop, lambda: os.close(lock)):
            return
        time.sleep(TICK_S)


def _leave(loop: Supervisor, release: Callable[[], None]) -> bool:
    """Give the lock back while nobody can join the line, unless somebody just did."""
    with queue.locked(loop.workspace):
        if loop.tick():
            return False
        release()
        return True
