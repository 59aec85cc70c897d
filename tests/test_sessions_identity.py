"""Processes are known by host, boot, pid and start time; groups end with all their members."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from toy_lab import eventually

from sessions import identity
from sessions.identity import RUN_MARK, alive, members, signal_members, wait_gone

SLEEPER = "import time; time.sleep(600)"
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def leader() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A session leader with one child: the process, and the child's pid."""
    environment = {**os.environ, RUN_MARK: "/a run"}
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield process, child
        for pid in (process.pid, child):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_process_is_alive_until_it_ends(leader: tuple[subprocess.Popen[str], int]) -> None:
    process, _ = leader
    who = identity.identify(process.pid)
    assert who is not None and alive(who) is True
    process.kill()
    eventually(lambda: alive(who) is False)  # a zombie, which nobody has waited for
    process.wait()
    assert alive(who) is False


def test_a_reused_pid_is_another_process() -> None:
    assert alive(replace(identity.own(), start="12345")) is False
    assert alive(replace(identity.own(), boot="before")) is False
    assert alive(replace(identity.own(), host="elsewhere")) is None


def test_the_whole_group_ends(leader: tuple[subprocess.Popen[str], int]) -> None:
    process, child = leader
    who = identity.identify(process.pid)
    assert who is not None
    assert sorted(members(who, "/a run")) == sorted([process.pid, child])
    signal_members(who, "/a run", signal.SIGKILL)
    process.wait()
    assert wait_gone(who, "/a run", 60.0)


def test_children_of_a_dead_leader_are_ours_only_if_marked(
    leader: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = leader
    who = identity.identify(process.pid)
    assert who is not None
    process.kill()
    process.wait()
    eventually(lambda: members(who, "/a run") == [child])
    assert members(who, "/another run") == [], "a stranger's group under a reused number"


def test_waiting_for_what_does_not_go_ends(leader: tuple[subprocess.Popen[str], int]) -> None:
    who = identity.identify(leader[0].pid)
    assert who is not None
    assert not wait_gone(who, "/a run", 0.2)


def test_without_proc_ps_says_the_same(
    leader: tuple[subprocess.Popen[str], int], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, child = leader
    by_proc = identity.stat(child)
    assert by_proc is not None
    monkeypatch.setattr(identity, "PROC", type(identity.PROC)(str(tmp_path)))
    by_ps = identity.stat(child)
    assert by_ps is not None
    assert (by_ps.group, by_ps.session, by_ps.gone) == (by_proc.group, by_proc.session, False)
    who = identity.identify(process.pid)
    assert who is not None and alive(who) is True
    assert alive(replace(who, start="Mon Jan  1 00:00:00 2001")) is False
