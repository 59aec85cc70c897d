"""The dashboard over 5,000 runs in a pty, with a probe of its event loop: what benches measure."""

import json
import os
import select
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from synthetic import PILOT, write_run, write_task  # noqa: E402
from terminal import KEYS, Terminal  # noqa: E402

from rlhf.vocab import FAMILIES  # noqa: E402

RUNS = 5000
QUIET_S = 0.03  # a paint is over when nothing came for so long
PROBE = """
import asyncio, json, sys, time
sys.path[:0] = {path!r}
from tui.dashboard import tune_textual
tune_textual()
import tui.app as app
gaps = []
async def watch():
    before = time.perf_counter()
    while True:
        await asyncio.sleep(0.002)
        now = time.perf_counter()
        gaps.append((now, now - before - 0.002))
        before = now
mount = app.ConsoleApp.on_mount
def on_mount(self):
    mount(self)
    self._probe = asyncio.get_running_loop().create_task(watch())
app.ConsoleApp.on_mount = on_mount
from tui.cli import main
try:
    main(sys.argv[1:])
finally:
    json.dump(gaps, open({out!r}, "w"))
"""


def environment(place: Path) -> dict[str, str]:
    """A clean one: its own cache, UTF-8, a terminal with colours."""
    return {
        **{k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "VIRTUAL_ENV")},
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(place / "cache"),
        "RLHF_TUI_WORKSPACE": str(place / "workspace"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


def write_many(place: Path, count: int = RUNS) -> None:
    """`count` settled runs with figures, in the workspace of a task that can be launched on."""
    from sessions.evaluations import Evaluations
    from sessions.paths import Workspace
    from sessions.task import Task

    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    task = write_task(place / "task")
    for part in ("policy", "reward_model", "data"):
        shutil.copytree(ROOT / "fixture" / "task" / part, task / part, dirs_exist_ok=True)
    workspace = Workspace(place / "workspace")
    evaluations = Evaluations(Task(task), workspace)
    settled = [task / "policy", *(task / "runs").glob("*/")]
    settled += [_write_one(workspace.runs / f"run-{n:04d}", n) for n in range(count)]
    for number, folder in enumerate(settled):
        kept = evaluations.folders(folder)[0]
        kept.mkdir(parents=True, exist_ok=True)
        (kept / f"{evaluations.key(folder)}.json").write_text(json.dumps(_figures(number)))


def _write_one(folder: Path, number: int) -> Path:
    return write_run(
        folder,
        kl_coef=(0.02, 0.05, 0.1, 0.5)[number % 4],
        proxy=number % 97 / 40,
        kl=number % 89 / 5,
        rows=2,
        seed=number % 3,
        weights=PILOT if number % 5 else None,
        lr=1e-4 * (1 + number // 12),
    )


def _figures(number: int) -> dict[str, Any]:
    def pair(shift: int) -> dict[str, Any]:
        proxy = {"mean": (number * 7 + shift) % 113 / 40, "se": 0.01, "n": 800}
        kl = {"mean": (number * 11 + shift) % 127 / 6, "se": 0.1, "n": 800}
        return {"proxy": proxy, "kl": kl}

    families = {family: pair(shift) for shift, family in enumerate(FAMILIES)}
    return {"prompts": 200, "n": 4, "seed": 0, "families": families, "balanced": pair(9)}


@contextmanager
def many_runs(place: Path, *words: str, probe: Path | None = None) -> Iterator[Terminal]:
    """The dashboard over the many runs, settled; `probe` is where its event loop's gaps go."""
    program = "from tui.cli import main; main()"
    if probe is not None:
        program = PROBE.format(path=[str(ROOT)], out=str(probe))
    command = [sys.executable, "-c", program, "--task", str(place / "task"), *words]
    with Terminal(command, environment(place), 120, 40) as terminal:
        terminal.until(lambda: f" of {RUNS + 6}" in terminal.text, 120)
        terminal.settle(1.5, 20)
        yield terminal


def paint(terminal: Terminal, key: str) -> float | None:
    """Type one key; seconds to the last byte of what it painted, None if that was nothing."""
    began = time.perf_counter()
    os.write(terminal.master, KEYS.get(key, key).encode())
    last = None
    wait = 0.4
    while select.select([terminal.master], [], [], wait)[0]:
        os.read(terminal.master, 65536)
        last = time.perf_counter()
        wait = QUIET_S
    return None if last is None else last - began


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def measured(
    place: Path, act: Callable[[Terminal], Sequence[float]], *words: str
) -> dict[str, float]:
    """What `act`, which types, tells of key to paint, and the event loop's gaps meanwhile."""
    probe = place / "gaps.json"
    with many_runs(place, *words, probe=probe) as terminal:
        began = time.perf_counter()  # the same clock in every process
        seconds = act(terminal)
        ended = time.perf_counter()
        terminal.press("q")
        terminal.wait(10)
    gaps = [gap for at, gap in json.loads(probe.read_text()) if began < at < ended]
    return {
        "key_to_paint_p50_ms": 1000 * statistics.median(seconds),
        "key_to_paint_p95_ms": 1000 * percentile(seconds, 0.95),
        "key_to_paint_max_ms": 1000 * max(seconds),
        "loop_gap_p999_ms": 1000 * percentile(gaps, 0.999),
        "loop_gap_max_ms": 1000 * max(gaps),
    }
