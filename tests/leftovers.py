"""Ends what the tests started once their session is over, however that ended.

`watch` marks the environment, which all that is started inherits, and starts a process that
waits for the end of a pipe that the session alone holds, then kills all that carries the mark.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "RLHF_TUI_TESTS"
SWEEPS, PAUSE_S = 50, 0.1  # what is killed may have started something since it was seen
_held: list[object] = []  # as long as the session lasts


def watch() -> None:
    """Let nothing outlive this process; in a worker of pytest-xdist its session does that."""
    if MARK in os.environ:
        return
    os.environ[MARK] = f"{os.getpid()}-{time.time_ns()}"
    reader, writer = os.pipe()
    watcher = subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(reader)
    _held.extend([writer, watcher])


def marked() -> dict[str, str]:
    """The mark, for an environment that is made up."""
    return {MARK: os.environ[MARK]} if MARK in os.environ else {}


def carriers(mark: str) -> Iterator[int]:
    """Pids of the processes that were started with this mark, but for this one."""
    wanted = f"{MARK}={mark}"
    if not Path("/proc/self/environ").exists():
        command = ["ps", "-A", "-E", "-ww", "-o", "pid=,command="]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        found = [int(line.split()[0]) for line in lines if wanted in line.split()]
    else:
        found = [int(one.name) for one in Path("/proc").glob("[0-9]*") if _has(one, wanted)]
    yield from (pid for pid in found if pid != os.getpid())


def _has(process: Path, wanted: str) -> bool:
    with suppress(OSError):
        return wanted.encode() in (process / "environ").read_bytes().split(b"\0")
    return False


def end_all(mark: str) -> None:
    """Kill what carries the mark, until nothing does."""
    for _ in range(SWEEPS):
        found = list(carriers(mark))
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_all(os.environ[MARK])
