"""Attacks on the sandbox: held under every level of this machine, successful without the layer."""

import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grader_attacks as attacks
import pytest
from sandbox_field import LINUX_ONLY, NONE, WIDE, Field
from toy_lab import eventually

from grader.sandbox import level as levels
from grader.sandbox.allow import View
from grader.sandbox.launch import Launcher, Outcome
from grader.sandbox.level import Layers
from grader.sandbox.limits import Limits
from grader.sandbox.proof import prove

pytestmark = LINUX_ONLY


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
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_daemonised_lives_on(field: Field, view: View, name: str, level: str) -> None:
    assert "daemon" not in _attack(field, view, _layers(level), getattr(attacks, name), WIDE)


def test_the_sweep_alone_finds_a_daemon_that_does_not_fork_on(field: Field, view: View) -> None:
    assert "daemon" not in _attack(field, view, NONE, attacks.DAEMON, WIDE)


@pytest.mark.parametrize("name", ["DAEMON", "FORK_CHAIN"])
def test_daemon_lives_on_without_the_reaper(field: Field, name: str) -> None:
    job = field.job(getattr(attacks, name), WIDE)
    text = json.dumps(field.targets)
    subprocess.run([sys.executable, job.see["submission"] / "diagnostic.py", text], check=True)
    eventually(lambda: "daemon lived" in _hurt(field))


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


@pytest.mark.parametrize("level", LEVELS + OLD_KERNELS)
def test_canary_proves_the_level(field: Field, view: View, level: str) -> None:
    launcher = Launcher(view, _layers(level))
    secrets = [field.targets["secret"]]
    found = prove(launcher, field.work / "canary", field.work / "task", False, secrets)
    assert found.holds
    assert found.level == level.split()[0]
