"""What this machine and this terminal offer, in plain words, with the fix for what is amiss."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import queue
from .disk import free
from .paths import Workspace
from .supervise import python_environment, supervisor
from .supervisor import cores
from .task import Task, TaskError

LOW_SPACE = 1 << 30  # bytes; a run with checkpoints takes some tens of MB
PROBE_S = 60.0
NEEDED = ("torch", "numpy", "safetensors", "textual", "rich", "click")
# the grader knows what it can contain; it is asked in a child, since it must not be imported here
_ISOLATION = "from grader.sandbox.level import layers; x = layers(); print(x.level, x.abi)"
_LEVELS = {
    "namespaces": ("ok", "submissions run in namespaces of their own (bubblewrap)"),
    "landlock": ("ok", "submissions run behind Landlock and seccomp"),
    "limits-only": ("bad", "nothing here can contain a submission: grading refuses to run code"),
}


@dataclass(frozen=True)
class Finding:
    """One fact: ok, worth knowing (warn), or in the way (bad)."""

    topic: str
    level: str  # ok | warn | bad
    text: str
    fix: str | None = None


def examine(workspace: Workspace, task: Path, ascii: bool = False) -> list[Finding]:
    """Everything worth knowing before work begins. Takes a second or two; changes nothing.

    `ascii` says that the dashboard draws in ASCII here.
    """
    return [
        *_versions(),
        _cores(),
        *_places(workspace),
        _task(task),
        _isolation(),
        *_terminal(ascii),
        _supervisor(workspace),
    ]


def _versions() -> Iterator[Finding]:
    text = f"Python {platform.python_version()} on {platform.system()} {platform.release()}"
    yield Finding("python", "ok" if sys.version_info >= (3, 11) else "bad", text)
    for name in NEEDED:
        found = _version(name)
        fix = None if found else f"pip install {name}"
        yield Finding(name, "ok" if found else "bad", found or "is not installed", fix)
    pandas = _version("pandas")
    text = pandas or "is not installed: a submission's diagnostic that needs it will fail"
    yield Finding("pandas", "ok" if pandas else "warn", text, None if pandas else "make setup")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cores() -> Finding:
    count = cores()
    text = f"{count} usable: as many runs train at once, one thread each"
    return Finding("cores", "ok", text)


def _places(workspace: Workspace) -> Iterator[Finding]:
    for topic, path in (("workspace", workspace.root), ("cache", workspace.cache)):
        problem = _cannot_write(path)
        fix = "choose another with --workspace DIR" if topic == "workspace" else None
        level = "ok" if problem is None else "bad" if topic == "workspace" else "warn"
        yield Finding(topic, level, f"{path} {problem or 'can be written'}", problem and fix)
    left = free(workspace.root)
    low = left < LOW_SPACE
    fix = "rlhf-tui prune" if low else None
    yield Finding("disk", "warn" if low else "ok", f"{left / 1e9:.1f} GB free", fix)


def _cannot_write(path: Path) -> str | None:
    """Why nothing can be written to `path`, tried where it is or would be made; None if it can."""
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        with tempfile.TemporaryFile(dir=path):
            return None
    except OSError as error:
        return f"cannot be written: {error.strerror}"


def _task(task: Path) -> Finding:
    try:
        Task(task).check()
    except TaskError as error:
        return Finding("task", "bad", str(error), error.fix)
    return Finding("task", "ok", f"{task} is whole")


def _isolation() -> Finding:
    command = [sys.executable, "-P", "-c", _ISOLATION]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_S, env=python_environment()
        )
        found, abi = done.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return Finding("isolation", "warn", "cannot be told: the grader did not answer")
    level, text = _LEVELS.get(found, ("warn", "is of an unknown kind"))
    fix = None if level == "ok" else "install bubblewrap, or use a kernel with Landlock"
    return Finding("isolation", level, f"{found}, Landlock ABI {abi}: {text}", fix)


def _terminal(ascii: bool) -> Iterator[Finding]:
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    if ascii or "utf" not in encoding:
        fix = "a UTF-8 locale, such as LANG=C.UTF-8, in a terminal that is not the kernel's console"
        yield Finding("encoding", "warn", "drawn in ASCII", fix)
    else:
        yield Finding("encoding", "ok", encoding)
    if not sys.stdout.isatty():
        yield Finding("terminal", "warn", "none: commands work, the dashboard does not")
        return
    size, kind = shutil.get_terminal_size(), os.environ.get("TERM", "unknown")
    small = size.columns < 80 or size.lines < 24
    level = "warn" if small or kind in ("dumb", "unknown") else "ok"
    text = f"{kind}, {size.columns}x{size.lines}{_colours()}"
    yield Finding("terminal", level, text, "80x24 shows everything" if small else None)


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return ", no colours (NO_COLOR)"
    remote = ", over ssh" if os.environ.get("SSH_TTY") else ""
    return ", true colour" + remote if os.environ.get("COLORTERM") else remote


def _supervisor(workspace: Workspace) -> Finding:
    boss, waiting = supervisor(workspace), len(queue.entries(workspace))
    if queue.paused(workspace):
        return Finding("queue", "warn", f"paused, {waiting} in it", "rlhf-tui jobs go")
    if boss is None:
        text = f"{waiting} in it, no supervisor" if waiting else "empty"
        return Finding("queue", "warn" if waiting else "ok", text)
    return Finding("queue", "ok", f"{waiting} in it, supervised by process {boss.pid}")
