"""Which process is meant: host, boot, pid and start time. A pid alone can be reused."""

import functools
import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .errors import SessionError

PROC = Path("/proc")
RUN_MARK = "RLHF_TUI_RUN"  # environment variable of everything a run starts: its folder


@dataclass(frozen=True)
class Process:
    """One process, for good. `start` is its start time as the kernel tells it."""

    host: str
    boot: str
    pid: int
    start: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Stat:
    """What the process table says of one pid."""

    state: str  # R, S, D, T, Z, X ...
    group: int
    session: int
    start: str

    @property
    def gone(self) -> bool:
        """A zombie has ended; only its parent has not looked yet."""
        return self.state[:1] in "ZX"


@functools.cache
def host() -> str:
    """This machine's name."""
    return platform.node() or "localhost"


@functools.cache
def boot() -> str:
    """What tells this boot of the machine from every other."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _command("sysctl", "-n", "kern.bootsessionuuid")


def _command(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def stat(pid: int) -> Stat | None:
    """The process table's line on `pid`, or None if there is no such process."""
    if not PROC.joinpath("self/stat").exists():
        return _stat_by_ps(pid)
    try:
        line = (PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    words = line[line.rindex(")") + 2 :].split()  # the name before may hold anything
    return Stat(words[0], int(words[2]), int(words[3]), words[19])


def _stat_by_ps(pid: int) -> Stat | None:
    words = _command("ps", "-o", "stat=,pgid=,sess=,lstart=", "-p", str(pid)).split(maxsplit=3)
    if len(words) < 4:
        return None
    session = int(words[2]) if words[2].isdigit() else int(words[1])
    return Stat(words[0], int(words[1]), session, words[3])


def identify(pid: int) -> Process | None:
    """The identity of a process that lives on this machine, or None."""
    seen = stat(pid)
    return None if seen is None or seen.gone else Process(host(), boot(), pid, seen.start)


def own() -> Process:
    """The identity of this process."""
    me = identify(os.getpid())
    assert me is not None, "a process that runs is in the process table"
    return me


def parse(value: Any) -> Process | None:
    """A Process from its JSON form, or None if it is not one."""
    if not isinstance(value, dict):
        return None
    kinds = {"host": str, "boot": str, "pid": int, "start": str}
    if not all(isinstance(value.get(key), kind) for key, kind in kinds.items()):
        return None
    return Process(*(value[key] for key in kinds))


def alive(process: Process) -> bool | None:
    """Whether it still runs; None if that cannot be known from this host."""
    if process.host != host():
        return None
    if process.boot != boot():
        return False
    seen = stat(process.pid)
    return seen is not None and not seen.gone and seen.start == process.start


def members(process: Process, mark: str) -> list[int]:
    """Pids of what is left of `process` and all it started: its session and its group.

    Once the leader is gone its number may be reused, so a member then has to carry `mark` in
    its environment (RUN_MARK=mark).
    """
    if process.host != host() or process.boot != boot():
        return []
    leader = stat(process.pid)
    ours = leader is not None and leader.start == process.start
    related = [pid for pid, seen in _table() if _belongs(pid, seen, process)]
    return [pid for pid in related if ours or _marked(pid, mark)]


def _belongs(pid: int, seen: Stat, process: Process) -> bool:
    return not seen.gone and process.pid in (pid, seen.group, seen.session)


def _table() -> Iterator[tuple[int, Stat]]:
    for pid in _pids():
        seen = stat(pid)
        if seen is not None:
            yield pid, seen


def _pids() -> list[int]:
    if PROC.joinpath("self/stat").exists():
        return [int(name) for name in os.listdir(PROC) if name.isdigit()]
    return [int(word) for word in _command("ps", "-A", "-o", "pid=").split()]


def _marked(pid: int, mark: str) -> bool:
    wanted = f"{RUN_MARK}={mark}"
    try:
        return wanted.encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return f" {wanted} " in _command("ps", "-E", "-o", "command=", "-p", str(pid)) + " "


def signal_members(process: Process, mark: str, number: signal.Signals) -> list[int]:
    """Send `number` to every member; the pids that were sent it. Raises SessionError."""
    reached = []
    for pid in members(process, mark):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError as error:
            raise SessionError(
                f"process {pid} is another user's: it cannot be signalled"
            ) from error
        reached.append(pid)
    return reached


def wait_gone(process: Process, mark: str, seconds: float) -> bool:
    """Whether all members are gone within `seconds`."""
    deadline = time.monotonic() + seconds
    while members(process, mark):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True
