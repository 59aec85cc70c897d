"""Kills runs, supervisor and dashboard at random points of a sweep, and keeps its own books.

Facts come from what the toy trainer leaves (a line per start, its receipt) and from the process
table, read here; the states that `sessions` derives are compared with them all the while.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from toy_lab import Lab

from sessions.identity import alive
from sessions.resume import resume
from sessions.supervise import python_environment, supervisor

DASHBOARD = """
import sys, time
from pathlib import Path
from sessions.catalogue import Catalogue
from sessions.paths import Workspace
from sessions.supervise import ensure_supervisor
from sessions.task import Task
task, root = Path(sys.argv[1]), Workspace(Path(sys.argv[2]))
catalogue = Catalogue(Task(task), root)
while True:
    catalogue.scan()
    ensure_supervisor(root)
    time.sleep(0.2)
"""
LONGEST_WRONG_S = 2.0
TARGETS = ("run", "run", "run", "supervisor", "dashboard", "all three")


@dataclass
class Storm:
    """One sweep under fire; `report` is what it comes to."""

    lab: Lab
    kills: int
    chance: random.Random
    steps: int = 60
    runs: list[str] = field(default_factory=list)
    dashboard: subprocess.Popen[bytes] | None = None
    killed: dict[str, int] = field(default_factory=dict)
    wrong_since: dict[str, float] = field(default_factory=dict)
    longest_wrong: float = 0.0
    wrong: list[str] = field(default_factory=list)
    resumed: int = 0

    def report(self) -> dict[str, object]:
        began = time.monotonic()
        self.runs = self.lab.launch("storm", seed=list(range(6)), steps=self.steps, save_every=5)
        try:
            self._rage()
        finally:
            self._kill_dashboard()
            self.lab.end_everything()
        return {
            "runs": len(self.runs),
            "kills": self.killed,
            "resumed": self.resumed,
            "longest_wrong_s": round(self.longest_wrong, 3),
            "wrong": self.wrong,
            "starts": {run: len(self.lab.starts(run)) for run in self.runs},
            "attempts": {run: self._attempts(run) for run in self.runs},
            "weights_same": all(map(self._same_weights, enumerate(self.runs))),
            "seconds": round(time.monotonic() - began, 1),
        }

    def _rage(self) -> None:
        next_kill, deadline = time.monotonic(), time.monotonic() + 300
        while not all(self.fact(run) == {"finished"} for run in self.runs):
            assert time.monotonic() < deadline, "the sweep did not end"
            self._keep_dashboard()
            self._look()
            if sum(self.killed.values()) < self.kills and time.monotonic() >= next_kill:
                self._strike()
                next_kill = time.monotonic() + self.chance.uniform(0.05, 0.5)
            time.sleep(0.02)
        self._look()

    def fact(self, run: str) -> set[str]:
        """The states that may be true of a run, by our own books."""
        folder, starts = self.lab.folder(run), self.lab.starts(run)
        receipt = folder / "done.json"
        if len(starts) < self._attempts(run):
            return {"queued", "starting", "running", "lost"}  # on its way to its first line
        pid, start, _ = starts[-1].split()
        if _lives(int(pid), start):
            return {"starting", "running", "finished"}
        return {json.loads(receipt.read_text())["outcome"]} if receipt.exists() else {"lost"}

    def _attempts(self, run: str) -> int:
        return json.loads((self.lab.folder(run) / "run.json").read_text())["attempt"]

    def _look(self) -> None:
        for run in self.runs:
            before, state = self.fact(run), self.lab.state(run).state
            if state in before | self.fact(run):
                self.wrong_since.pop(run, None)
            else:
                since = self.wrong_since.setdefault(run, time.monotonic())
                lasted = time.monotonic() - since
                self.longest_wrong = max(self.longest_wrong, lasted)
                if lasted > LONGEST_WRONG_S:
                    self.wrong.append(f"{run} reads {state}, is {before}")
            if state == "lost":
                resume(self.lab.workspace, self.lab.folder(run))
                self.resumed += 1

    def _strike(self) -> None:
        target = self.chance.choice(TARGETS)
        live = [run for run in self.runs if self._pid(run)]
        if target in ("run", "all three"):
            if not live:
                return
            for run in live if target == "all three" else [self.chance.choice(live)]:
                _kill(self._pid(run))
        if target in ("supervisor", "all three"):
            boss = supervisor(self.lab.workspace)
            _kill(boss.pid if boss is not None and alive(boss) else None)
        if target in ("dashboard", "all three"):
            self._kill_dashboard()
        self.killed[target] = self.killed.get(target, 0) + 1

    def _pid(self, run: str) -> int | None:
        starts = self.lab.starts(run)
        if not starts:
            return None
        pid, start, _ = starts[-1].split()
        return int(pid) if _lives(int(pid), start) else None

    def _same_weights(self, numbered: tuple[int, str]) -> bool:
        seed, run = numbered
        weights = (self.lab.folder(run) / "policy.safetensors").read_text()
        return weights == self.lab.undisturbed(seed, self.steps)

    def _keep_dashboard(self) -> None:
        if self.dashboard is None or self.dashboard.poll() is not None:
            words = [str(self.lab.task), str(self.lab.workspace.root)]
            self.dashboard = subprocess.Popen(
                [sys.executable, "-P", "-c", DASHBOARD, *words],
                stdin=subprocess.DEVNULL,
                env=python_environment(),
            )

    def _kill_dashboard(self) -> None:
        if self.dashboard is not None:
            self.dashboard.kill()
            self.dashboard.wait()


def _kill(pid: int | None) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _lives(pid: int, start: str) -> bool:
    """By the process table: there, not a zombie, and begun when we were told."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return words[0] not in "ZX" and words[19] == start
