"""A workspace, a small task folder and the toy trainer, with real processes under them."""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rlhf.vocab import FAMILIES
from sessions import launch as launching
from sessions.catalogue import Catalogue
from sessions.evidence import state_of
from sessions.identity import Process, alive, parse, signal_members
from sessions.paths import Workspace
from sessions.plan import Plan, Request, make_plans
from sessions.record import load
from sessions.runfiles import read_object
from sessions.states import State
from sessions.supervise import supervisor
from sessions.task import Task

ROOT = Path(__file__).resolve().parents[1]
TRAINER = (sys.executable, "-P", str(ROOT / "tests" / "toy_trainer.py"))


def write_weights(path: Path, value: int = 1) -> None:
    """A whole safetensors file of one tensor."""
    header = {"w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes([value]))


def write_task(root: Path) -> Path:
    """A task folder that a launch can be checked against."""
    for folder, weights in (("policy", "policy"), ("reward_model", "rm")):
        write_weights(root / folder / f"{weights}.safetensors")
        (root / folder / "config.json").write_text("{}")
    (root / "data").mkdir()
    prompts = [{"id": f"{f}-0001", "family": f, "attrs": [0, 0, 0, 0]} for f in FAMILIES]
    lines = [json.dumps(prompt) + "\n" for prompt in prompts]
    (root / "data" / "prompts_train.jsonl").write_text("".join(lines))
    return root


def eventually(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true value of `what()`; an AssertionError if none comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"nothing came of it in {seconds} s")


class Lab:
    def __init__(self, root: Path) -> None:
        self.task = write_task(root / "task")
        self.workspace = Workspace(root / "workspace")

    def plans(self, name: str | None = None, base: Any = None, **axes: Any) -> list[Plan]:
        settings = {"log_every": 1, "steps": 5, **axes}
        values = {k: v if isinstance(v, list) else [v] for k, v in settings.items()}
        return make_plans(Request(values, base or {}, name), self.task)

    def launch(self, name: str | None = None, **axes: Any) -> list[str]:
        plans = self.plans(name, **axes)
        return launching.launch(self.workspace, self.task, plans, trainer=TRAINER, validate=False)

    def hold(self, on: bool = True) -> None:
        """Let runs go no further than halfway, so that one is met while it runs."""
        hold = self.task / "hold"
        hold.touch() if on else hold.unlink(missing_ok=True)

    def folder(self, run: str) -> Path:
        return self.workspace.runs / run

    def state(self, run: str) -> State:
        return state_of(self.folder(run))

    def until(self, run: str, *states: str, seconds: float = 60.0) -> State:
        return eventually(lambda: (s := self.state(run)).state in states and s, seconds)

    def process(self, run: str) -> Process:
        def found() -> Process | None:
            record = load(self.folder(run))
            return parse(record["process"]) if record else None

        return eventually(found)

    def starts(self, run: str) -> list[str]:
        path = self.folder(run) / "starts.txt"
        return path.read_text().splitlines() if path.exists() else []

    def listed(self) -> dict[str, dict[str, Any]]:
        """`runs --json`'s rows of the workspace, by id."""
        rows = Catalogue(Task(self.task), self.workspace).scan().runs
        return {row["id"]: row for row in rows if row["source"] == "workspace"}

    def undisturbed(self, seed: int, steps: int) -> str:
        """The weights that a run of this seed ends with if nothing ever stops it."""
        chain = f"seed {seed}"
        for step in range(1, steps + 1):
            chain = hashlib.sha256(f"{chain}|{step}".encode()).hexdigest()
        return chain

    def end_everything(self) -> None:
        """Kill what this lab started and still runs, each process by its identity."""
        boss = supervisor(self.workspace)
        if boss is not None and alive(boss):
            with suppress(ProcessLookupError):
                os.kill(boss.pid, signal.SIGKILL)
        for place in (self.workspace.runs, self.workspace.jobs):
            for folder in place.glob("*") if place.is_dir() else ():
                record = read_object(folder / "run.json", []) or {}
                process = parse(record.get("process"))
                if process is not None:
                    signal_members(process, str(folder), signal.SIGKILL)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A workspace with the toy trainer; what it started is ended with the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.setenv("TOY_STEP_S", "0.01")
    made = Lab(tmp_path)
    monkeypatch.setenv("TOY_HOLD", str(made.task / "hold"))
    yield made
    made.end_everything()
