"""Seeing that a supervisor is there: one a workspace, detached from whoever asked for it."""

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import suppress

from . import queue
from .errors import SessionError, writing
from .identity import Process, own, parse
from .inputs import package_dir
from .paths import Workspace
from .record import now

START_SECONDS = 20.0
LOCK_TRIES = 20
LOCK_WAIT_S = 0.05
NARRATION = "supervisor.log"


def ensure_supervisor(workspace: Workspace) -> bool:
    """Start a supervisor if there is work in the queue and none is there. True if started.

    Raises SessionError if it cannot be started.
    """
    if queue.paused(workspace) or not queue.entries(workspace):
        return False
    with queue.locked(workspace):  # a supervisor leaves only while it holds this
        if supervised(workspace):
            return False
    _start(workspace)
    return True


def _start(workspace: Workspace) -> None:
    command = [sys.executable, "-P", "-m", "sessions", "supervise"]
    command.append(str(workspace.root.absolute()))
    log = workspace.queue / NARRATION
    try:
        with writing(log), open(log, "ab") as narration:
            subprocess.run(
                [*command, "--detach"],
                stdin=subprocess.DEVNULL,
                stdout=narration,
                stderr=narration,
                env=python_environment(),
                timeout=START_SECONDS,
                check=True,
            )
    except subprocess.SubprocessError as error:
        raise SessionError(f"the supervisor cannot start: see {log}", str(log)) from error


def python_environment() -> dict[str, str]:
    """This environment, in which `python -P -m` finds the packages we run from."""
    path = [str(package_dir().parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, path)))}


def supervised(workspace: Workspace) -> bool:
    """Whether a supervisor holds this workspace's lock."""
    try:
        handle = os.open(workspace.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def supervisor(workspace: Workspace) -> Process | None:
    """The supervisor that runs this workspace, or None."""
    if not supervised(workspace):
        return None
    try:
        return parse(json.loads(workspace.lock.read_bytes()))
    except (OSError, ValueError):
        return None


def take_lock(workspace: Workspace) -> int | None:
    """The open lock, with this process named in it, or None if another supervisor has it."""
    with writing(workspace.lock):
        workspace.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(workspace.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    if not _lock(handle):
        os.close(handle)
        return None
    with suppress(OSError):  # on a full disk the lock holds all the same
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(own().as_dict() | {"since": now()}).encode(), 0)
    return handle


def _lock(handle: int) -> bool:
    """Take the lock; somebody who only looks at it (`supervised`) is waited for."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(LOCK_WAIT_S)
    return False
