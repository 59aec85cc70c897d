"""Attacks on the sandbox: held under every level of this machine, successful without the layer."""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grader_attacks as attacks
import pytest

from grader.errors import IsolationError
from grader.sandbox import level as levels
from grader.sandbox.allow import OURS, View, carve, make_view, own_folders
from grader.sandbox.launch import Job, Launcher, Outcome
from grader.sandbox.level import Layers
from grader.sandbox.limits import Limits
from grader.sandbox.proof import prove

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the layers are Linux's"
)

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


def _layers(name: str) -> Layers:
    """The layers of a level on this machine, or a skip that names what is missing."""
    here = levels.layers()
    if name == "namespaces":
        if not here.bwrap:
            pytest.skip("bubblewrap is not usable here")
        return here
    if name == "namespaces without landlock":
        if not here.bwrap:
            pytest.skip("bubblewrap is not usable here")
        return dataclasses.replace(here, abi=0)
    if not (here.abi and here.seccomp):
        pytest.skip("the kernel has no Landlock")
    can_drop = levels.NOBODY if os.geteuid() == 0 else None
    abi = min(here.abi, int(name.rpartition("abi ")[2])) if "abi" in name else here.abi
    return dataclasses.replace(here, bwrap=(), uid=can_drop, abi=abi)


LEVELS = ["namespaces", "namespaces without landlock", "landlock"]
OLD_KERNELS = ["landlock abi 4", "landlock abi 1"]


def _open_up(folder: Path) -> None:
    """Let an unprivileged user reach a folder of pytest's, as it reaches the grader's own."""
    for path in (folder, *folder.parents):
        with contextlib.suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o011)


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


def _received(udp: socket.socket) -> bool:
    try:
        return bool(udp.recv(10))
    except TimeoutError:
        return False


def _changed(path: Path) -> bool:
    try:
        return path.read_text() != '{"families": "truth"}'
    except PermissionError:
        return True


def _hurt(field: Field) -> str:
    """What an attack did that can be seen from outside; empty if nothing."""
    effects = {
        "datagram": _received(field.udp),
        "victim killed": field.victim.poll() is not None,
        "file changed": _changed(field.work / "victim_file"),
        "link planted": (field.work / "open" / "planted").is_symlink(),
        "daemon lived": (field.work / "open" / "marker").exists(),
    }
    return ", ".join(name for name, seen in effects.items() if seen)


def _attack(field: Field, view: View, layers: Layers, source: str, limits: Limits) -> str:
    """Run an attack; what it reached, in words (empty = held)."""
    launcher = Launcher(view, layers)
    job = field.job(source, limits)
    outcome = launcher.run(job)
    if "marker" in source:
        time.sleep(0.8)
    said = "escaped" if b"ESCAPED" in job.stream("out").read_bytes() else ""
    assert isinstance(outcome, Outcome)
    return ", ".join(filter(None, [said, _hurt(field)]))


WALLS = {
    "reads the truth": attacks.READ_TRUTH,
    "imports the world's code": attacks.IMPORT_WORLD,
    "imports rlhf.analysis": attacks.OTHER_LIBRARY,
    "changes the fixture": attacks.CHANGE_FIXTURE,
    "changes the mode of the fixture": attacks.CHANGE_MODE,
    "truncates the fixture": attacks.TRUNCATE,
    "opens the network: TCP": attacks.TCP,
    "opens the network: UDP": attacks.UDP,
    "opens a unix socket": attacks.UNIX,
    "opens an abstract socket": attacks.ABSTRACT,
    "signals the grader": attacks.SIGNAL,
    "limits the grader": attacks.LIMIT_OTHER,
    "reads the grader's environment": attacks.ENVIRONMENT,
    "makes a namespace": attacks.NAMESPACE,
    "plants a symlink": attacks.PLANT_LINK,
}
# attack, and the bound that must hold it
BOUNDS: dict[str, tuple[str, dict[str, Any]]] = {
    "forks": (attacks.FORKS, {"tasks": 100, "spare": 64}),
    "fills the memory": (attacks.MEMORY, {"address": 400 << 20}),
    "fills the memory from many processes": (attacks.MEMORY_IN_MANY, {"memory": 300 << 20}),
    "fills the disk with one file": (attacks.ONE_BIG_FILE, {"file": 8 << 20}),
    "fills the disk with many files": (attacks.MANY_FILES, {"disk": 24 << 20}),
    "fills the disk with deleted files": (attacks.UNLINKED_FILES, {"disk": 24 << 20}),
    "fills the disk in a folder that none can list": (attacks.UNLISTED_FILES, {"disk": 24 << 20}),
    "hangs": (attacks.HANG, {"wall_s": 1}),
    "burns CPU": (attacks.BURN, {"cpu_s": 0.6}),
    "burns CPU in children": (attacks.BURN_IN_CHILDREN, {"cpu_s": 0.6}),
}


@pytest.mark.parametrize("level", LEVELS + OLD_KERNELS)
@pytest.mark.parametrize("name", WALLS)
def test_wall_holds(field: Field, view: View, name: str, level: str) -> None:
    assert _attack(field, view, _layers(level), WALLS[name], WIDE) == ""


@pytest.mark.parametrize("name", WALLS)
def test_attack_succeeds_without_the_wall(field: Field, view: View, name: str) -> None:
    assert _attack(field, view, NONE, WALLS[name], WIDE) != ""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", BOUNDS)
def test_bound_holds(field: Field, view: View, name: str, level: str) -> None:
    source, bound = BOUNDS[name]
    limits = dataclasses.replace(WIDE, **bound)
    assert _attack(field, view, _layers(level), source, limits) == ""


@pytest.mark.parametrize("name", BOUNDS)
def test_attack_succeeds_without_the_bound(field: Field, view: View, name: str) -> None:
    boundless = dataclasses.replace(WIDE, disk=float("inf"))
    assert "escaped" in _attack(field, view, NONE, BOUNDS[name][0], boundless)


@pytest.mark.parametrize("name", ["DAEMON", "FORK_CHAIN"])
@pytest.mark.parametrize("level", [*LEVELS, "no walls but the sweep"])
def test_nothing_daemonised_lives_on(field: Field, view: View, name: str, level: str) -> None:
    if level == "no walls but the sweep" and name == "FORK_CHAIN":
        pytest.skip("only a wall stops a process that forks faster than it can be found")
    layers = NONE if level == "no walls but the sweep" else _layers(level)
    assert "daemon" not in _attack(field, view, layers, getattr(attacks, name), WIDE)


@pytest.mark.parametrize("name", ["DAEMON", "FORK_CHAIN"])
def test_daemon_lives_on_without_the_reaper(field: Field, name: str) -> None:
    job = field.job(getattr(attacks, name), WIDE)
    text = json.dumps(field.targets)
    subprocess.run([sys.executable, job.see["submission"] / "diagnostic.py", text], check=True)
    time.sleep(0.8)
    assert "daemon lived" in _hurt(field)


def test_memory_outside_every_limit_is_refused(field: Field, view: View) -> None:
    layers = dataclasses.replace(NONE, seccomp=True)
    assert _attack(field, view, layers, attacks.MEMORY_FILE, WIDE) == ""
    assert "escaped" in _attack(field, view, NONE, attacks.MEMORY_FILE, WIDE)


def test_prints_much_is_kept_small(field: Field, view: View) -> None:
    job = field.job(attacks.PRINT_MUCH, WIDE)
    assert Launcher(view, levels.layers()).run(job).code == 0
    kept = job.stream("out").read_bytes()
    assert b"bytes dropped" in kept
    assert len(kept) < WIDE.output + 100


def test_prints_much_is_large_without_the_cap(field: Field) -> None:
    job = field.job(attacks.PRINT_MUCH, WIDE)
    command = [sys.executable, job.see["submission"] / "diagnostic.py", json.dumps(field.targets)]
    assert len(subprocess.run(command, capture_output=True, check=True).stdout) == 64 << 20


_GRADER = """
import json, sys
from pathlib import Path
from grader.sandbox.allow import make_view
from grader.sandbox import level, launch
from grader.sandbox.limits import Limits
work = Path(sys.argv[1])
layers = level.layers() if sys.argv[2] == "layers" else level.Layers((), 0, False, None)
see = {"task": work / "task", "submission": work / "submission"}
job = launch.Job(work / "job", ("diagnostic.py",), see, Limits())
print("up", flush=True)
launch.Launcher(make_view(work / "python"), layers).run(job)
"""


def _processes_with(text: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if text.encode() in Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
    return found


@pytest.mark.xdist_group("grader processes")  # they would count each other's
@pytest.mark.parametrize("layers", ["layers", "none"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_grader_killed_leaves_nothing_running(field: Field, layers: str, end: int) -> None:
    """ids: a grader killed with -9 (nothing left running)"""
    (field.work / "submission" / "diagnostic.py").write_text(
        "import os, time\nfor _ in range(3): os.fork()\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", _GRADER, str(field.work), layers]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    grader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    assert grader.stdout is not None
    assert grader.stdout.readline() == b"up\n"
    marks = {"layers": "SUB=/workspace/submission", "none": f"SUB={field.work}"}
    mark = marks["layers" if layers == "layers" and levels.layers().bwrap else "none"]
    until = time.monotonic() + 60
    while len(_processes_with(mark)) < 8 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(_processes_with(mark)) >= 8
    grader.send_signal(end)
    with grader:
        pass
    until = time.monotonic() + 3
    while _processes_with(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert _processes_with(mark) == []


def test_limits_only_refuses(field: Field, view: View) -> None:
    launcher = Launcher(view, NONE)
    with pytest.raises(IsolationError, match="nothing here can keep"):
        prove(launcher, field.work / "canary", field.work / "task", False, [])


def test_limits_only_runs_when_asked_and_says_what_got_out(field: Field, view: View) -> None:
    secrets = [field.targets["secret"]]
    launcher = Launcher(view, NONE)
    found = prove(launcher, field.work / "canary", field.work / "task", True, secrets)
    assert found.level == "limits-only"
    assert not found.canary["read"]
    assert not found.canary["tcp"]


@pytest.mark.parametrize("level", LEVELS + OLD_KERNELS)
def test_canary_proves_the_level(field: Field, view: View, level: str) -> None:
    launcher = Launcher(view, _layers(level))
    secrets = [field.targets["secret"]]
    found = prove(launcher, field.work / "canary", field.work / "task", False, secrets)
    assert found.holds
    assert found.level == level.split()[0]


def test_canary_that_gets_out_stops_the_grade(field: Field, view: View) -> None:
    """A level that claims Landlock while its rules are not laid on."""
    broken = dataclasses.replace(levels.layers(), bwrap=(), seccomp=False)
    launcher = Launcher(view, broken)
    object.__setattr__(launcher.layers, "seccomp", True)
    launcher._confined = lambda at, job: [  # type: ignore[method-assign]
        f"{at['view']}/bin/python3",
        *(part.format(**at) for part in job.argv),
    ]
    with pytest.raises(IsolationError, match="the canary got out"):
        prove(launcher, field.work / "canary", field.work / "task", False, [])


def test_carve_leaves_out_what_is_forbidden(tmp_path: Path) -> None:
    for path in ("a/x", "a/b/secret", "a/b/fine", "c"):
        (tmp_path / path).mkdir(parents=True)
    found = carve(str(tmp_path), [str(tmp_path / "a/b/secret")])
    assert sorted(Path(path).name for path in found) == ["c", "fine", "x"]
    assert carve(str(tmp_path), []) == [str(tmp_path)]
    assert carve(str(tmp_path / "c"), [str(tmp_path)]) == []


def test_view_holds_nothing_of_ours(view: View) -> None:
    """Nor any folder that lies above it: wherever this is installed."""
    for own in own_folders():
        for path in map(os.path.realpath, view.readable):
            assert own != path and not own.startswith(path + "/"), path
            assert not path.startswith(own + "/"), path
    names = {entry.name for entry in (view.root / view.site_below).iterdir()}
    assert not names & set(OURS)
    assert "torch" in names or "torch" in view.absent


def test_readable_paths_never_include_a_folder_of_packages(view: View) -> None:
    for path in view.readable:
        assert Path(path).name not in ("site-packages", "dist-packages")
