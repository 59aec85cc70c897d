"""The field of attacks on the sandbox, and what their program sees of the installation."""

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox.allow import View, make_view
from grader.sandbox.launch import Job
from grader.sandbox.level import LIMITS_ONLY, Layers, layers
from grader.sandbox.limits import Limits

LINUX_ONLY = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the layers are Linux's"
)
CONTAINED = pytest.mark.usefixtures("contained")  # runs a diagnostic, as only a sandbox may
ROOT = Path(__file__).resolve().parent.parent
NONE = Layers(bwrap=(), abi=0, seccomp=False, uid=None)
WIDE = Limits(
    wall_s=60,
    cpu_s=60,
    memory=8 << 30,
    address=8 << 30,
    tasks=4000,
    spare=4000,
    disk=1 << 30,
    file=1 << 30,
)


def _open_up(folder: Path) -> None:
    """Let an unprivileged user reach a folder of pytest's, as it reaches the grader's own."""
    for path in (folder, *folder.parents):
        with contextlib.suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o011)


@pytest.fixture
def contained() -> None:
    """Skips a test where the grader, rightly, refuses to run what was handed in."""
    if layers().level == LIMITS_ONLY:
        pytest.skip("nothing here can contain a submission")


@pytest.fixture(scope="session")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = tmp_path_factory.mktemp("view")
    _open_up(folder)
    return make_view(folder / "python")


@dataclasses.dataclass
class Field:
    """Everything that an attack may aim at, and where its program runs."""

    work: Path
    targets: dict[str, Any]
    victim: subprocess.Popen[bytes]
    tcp: socket.socket
    udp: socket.socket

    def job(self, source: str, limits: Limits) -> Job:
        stage = self.work / "submission"
        (stage / "diagnostic.py").write_text(source)
        targets = json.dumps({**self.targets, "scratch": "SCRATCH"})
        text = targets.replace("{", "{{").replace("}", "}}").replace("SCRATCH", "{scratch}")
        see = {"task": self.work / "task", "submission": stage}
        return Job(self.work / "job", ("diagnostic.py", text), see, limits)


def _listeners(work: Path) -> tuple[socket.socket, socket.socket, list[socket.socket]]:
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    named, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    named.bind(str(work / "socket"))
    os.chmod(work / "socket", 0o777)
    abstract.bind(f"\0rlhf-test-{os.getpid()}")
    for server in (named, abstract):
        server.listen()
    for server in (tcp, udp):
        server.settimeout(0.05)
    return tcp, udp, [named, abstract]


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    work = tmp_path
    for folder in ("task/rlhf", "submission", "open"):
        (work / folder).mkdir(parents=True)
    (work / "task/rlhf/__init__.py").touch()
    _open_up(work)
    (work / "open").chmod(0o777)
    for name in ("secret", "victim_file"):
        (work / name).write_text('{"families": "truth"}')
        (work / name).chmod(0o666)
    tcp, udp, others = _listeners(work)
    sleeper = [sys.executable, "-c", "import time; time.sleep(120)"]
    victim = subprocess.Popen(sleeper, env={**os.environ, "VICTIM_SECRET": "1"})
    targets = {
        "secret": str(work / "secret"),
        "victim_file": str(work / "victim_file"),
        "open_folder": str(work / "open"),
        "marker": str(work / "open" / "marker"),
        "root": str(ROOT),
        "tcp": tcp.getsockname()[1],
        "udp": udp.getsockname()[1],
        "unix": str(work / "socket"),
        "abstract": f"rlhf-test-{os.getpid()}",
        "victim": victim.pid,
    }
    yield Field(work, targets, victim, tcp, udp)
    victim.kill()
    victim.wait()
    for server in (tcp, udp, *others):
        server.close()
    if (work / "job" / "scratch" / "d").exists():  # or pytest could not remove it
        (work / "job" / "scratch" / "d").chmod(0o700)
