"""Proves, before anything of a submission runs, that the sandbox of this machine holds."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import IsolationError
from .allow import own_folders
from .launch import Job, Launcher
from .level import LIMITS_ONLY
from .limits import Limits

_MODULES = ("fixture", "grader", "sessions", "tui", "rlhf.analysis")
_FIX = "install bubblewrap, or use a kernel with Landlock; --allow-unprotected runs it regardless"


@dataclass(frozen=True)
class Isolation:
    """What protected a run: the level, Landlock's version, and what the canary found held."""

    level: str
    abi: int
    canary: dict[str, bool] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def holds(self) -> bool:
        return bool(self.canary) and all(self.canary.values())


def _secrets() -> list[str]:
    """A file of each of our packages, and of the analysis that no submission may read."""
    folders = [Path(folder) for folder in own_folders()]
    files = [folder / "__init__.py" for folder in folders]
    files += [folder / "analysis" / "__init__.py" for folder in folders]
    return [str(path) for path in files if path.exists()]


@contextlib.contextmanager
def _listening() -> Iterator[tuple[int, str]]:
    """A TCP listener on loopback and an abstract unix one, for the canary to fail to reach."""
    name = f"rlhf-tui-canary-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        with contextlib.suppress(OSError, ValueError):  # no abstract names here
            unix.bind("\0" + name)
            unix.listen()
        yield tcp.getsockname()[1], name


def _born() -> str:
    with contextlib.suppress(OSError), open("/proc/self/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()
    return ""


def _run(launcher: Launcher, folder: Path, task: Path, secrets: list[str]) -> dict[str, bool]:
    stage = folder.parent / "canary-submission"
    stage.mkdir()
    (stage / "canary.py").write_text((Path(__file__).parent / "canary.py").read_text())
    with _listening() as (port, unix):
        plan = {
            "secrets": _secrets() + secrets,
            "modules": _MODULES,
            "roots": sorted({str(Path(path).parent) for path in own_folders()}),
            "folders": [str(folder.parent), *own_folders()],
            "port": port,
            "unix": unix,
            "pid": os.getpid(),
            "born": _born(),
        }
        text = json.dumps(plan).replace("{", "{{").replace("}", "}}")
        see = {"task": task, "submission": stage}
        job = Job(folder, ("canary.py", text), see, Limits(wall_s=60, cpu_s=20))
        outcome = launcher.run(job)
    if outcome.code != 0:
        why = job.stream("err").read_text(errors="replace").strip().splitlines()
        reason = outcome.limit or (why[-1] if why else f"exit code {outcome.code}")
        raise IsolationError(f"the sandbox does not start: {reason:.300}", fix=_FIX)
    return dict(json.loads(job.stream("out").read_text()))


def prove(
    launcher: Launcher, folder: Path, task: Path, allow_unprotected: bool, secrets: list[str]
) -> Isolation:
    """Run the canary in the new folder `folder`. Raises IsolationError if a wall is missing.

    `secrets` are further files that must not be readable: the truth of the world at hand.
    """
    layers = launcher.layers
    if layers.level == LIMITS_ONLY and not allow_unprotected:
        raise IsolationError("nothing here can keep a submission from the truth", fix=_FIX)
    isolation = Isolation(layers.level, layers.abi, _run(launcher, folder, task, secrets))
    if not isolation.holds and not (layers.level == LIMITS_ONLY and allow_unprotected):
        open_ways = ", ".join(name for name, held in isolation.canary.items() if not held)
        raise IsolationError(f"the canary got out: {open_ways}", fix=_FIX)
    return isolation
