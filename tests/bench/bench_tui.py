"""How fast the dashboard is, measured from outside, through a pty.

    python tests/bench/bench_tui.py [--out FILE] [--quick] [--busy]

prints, and with --out writes as JSON: exec to a frame with all six names; with 5,000 runs listed,
key to paint of 300 keys of ten kinds, the event loop's gaps while they are typed, and the share
of a core that an idle minute costs. --busy repeats the keys with two niced trainings at work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from synthetic import PILOT, write_run, write_task  # noqa: E402
from terminal import Terminal  # noqa: E402

from rlhf.vocab import FAMILIES  # noqa: E402

NAMES = ("reference", "default-s800", "kl002-s1500", "kl05-s800", "pilotmix-s800", "fourfam-s800")
RUNS = 5000
QUIET_S = 0.03  # a paint is over when nothing came for so long
# ten kinds of keys; each line is typed as often as it takes to reach the wanted number
ROUND = [
    *("down", "down", "down", "up"),  # moves
    *("pgdn", "pgdn", "pgup"),  # pages
    *("end", "home"),  # edges
    *("right", "right", "left"),  # columns
    *("s", "S", "s"),  # sort, reverse, back
    *("/", "d", "u", "n", "e", ".", "k", "l", ">", "5", "esc"),  # filter letters
    *("space", "space"),  # marks
    "g", "g",  # group and back
    *("2", "3", "4", "5", "6", "1"),  # panes
    *("i", "esc"),  # a dialog
]  # fmt: skip
PROBE = """
import asyncio, json, os, sys, time
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
        gaps.append(now - before - 0.002)
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


def first_frame(place: Path, times: int) -> list[float]:
    """Seconds from exec to a frame that holds all six names."""
    command = [sys.executable, "-m", "tui.cli", "--read-only"]
    seconds = []
    for _ in range(times + 1):
        began = time.perf_counter()
        with Terminal(command, environment(place), 80, 24) as terminal:
            terminal.until(lambda t=terminal: all(name in t.text for name in NAMES))
            seconds.append(time.perf_counter() - began)
            terminal.press("q")
            terminal.wait(5)
    return seconds[1:]  # the first one warms the file cache


def write_many(place: Path, count: int) -> None:
    """`count` settled runs with figures, in the workspace."""
    from sessions.evaluations import Evaluations
    from sessions.paths import Workspace
    from sessions.task import Task

    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    task = write_task(place / "task")
    workspace = Workspace(place / "workspace")
    evaluations = Evaluations(Task(task), workspace)
    for number in range(count):
        folder = workspace.runs / f"run-{number:04d}"
        write_run(
            folder,
            kl_coef=(0.02, 0.05, 0.1, 0.5)[number % 4],
            proxy=number % 97 / 40,
            kl=number % 89 / 5,
            rows=2,
            seed=number % 3,
            weights=PILOT if number % 5 else None,
            lr=1e-4 * (1 + number // 12),
        )
        (folder / "eval").mkdir()
        name = f"{evaluations.key(folder)}.json"
        (folder / "eval" / name).write_text(json.dumps(_figures(number)))


def _figures(number: int) -> dict[str, Any]:
    def pair(shift: int) -> dict[str, Any]:
        proxy = {"mean": (number * 7 + shift) % 113 / 40, "se": 0.01, "n": 800}
        kl = {"mean": (number * 11 + shift) % 127 / 6, "se": 0.1, "n": 800}
        return {"proxy": proxy, "kl": kl}

    families = {family: pair(shift) for shift, family in enumerate(FAMILIES)}
    return {"prompts": 200, "n": 4, "seed": 0, "families": families, "balanced": pair(9)}


@contextmanager
def many_runs(place: Path, probe: bool = True) -> Iterator[tuple[Terminal, Path]]:
    """The dashboard over the many runs, settled, with or without a probe of its event loop."""
    gaps = place / "gaps.json"
    gaps.unlink(missing_ok=True)
    plain = "from tui.cli import main; main()"
    program = PROBE.format(path=[str(ROOT)], out=str(gaps)) if probe else plain
    command = [sys.executable, "-c", program, "--task", str(place / "task"), "--read-only"]
    with Terminal(command, environment(place), 120, 40) as terminal:
        terminal.until(lambda: f"/{RUNS + 6}" in terminal.text, 120)
        terminal.settle(1.5, 20)
        yield terminal, gaps


def type_keys(terminal: Terminal, count: int) -> list[float]:
    """Seconds from each key to the last byte of what it painted."""
    seconds: list[float] = []
    while len(seconds) < count:
        for key in ROUND:
            terminal.read(0.02)
            took = paint(terminal, key)
            if took is not None:
                seconds.append(took)
    return seconds[:count]


def paint(terminal: Terminal, key: str) -> float | None:
    """Type one key; None if it painted nothing."""
    import select

    from terminal import KEYS

    began = time.perf_counter()
    os.write(terminal.master, KEYS.get(key, key).encode())
    last = None
    wait = 0.4
    while select.select([terminal.master], [], [], wait)[0]:
        os.read(terminal.master, 65536)
        last = time.perf_counter()
        wait = QUIET_S
    return None if last is None else last - began


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(place: Path, seconds: float) -> float:
    """The share of a core used while nobody touches the dashboard over the many runs."""
    with many_runs(place, probe=False) as (terminal, _):
        return _idle_share(terminal, seconds)


def _idle_share(terminal: Terminal, seconds: float) -> float:
    before, began = cpu_seconds(terminal.pid), time.monotonic()
    terminal.read(0)
    while time.monotonic() - began < seconds:
        terminal.read(1.0)
        time.sleep(1.0)
    return (cpu_seconds(terminal.pid) - before) / (time.monotonic() - began)


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def keys_and_gaps(place: Path, keys: int) -> dict[str, float]:
    """Figures of one session over the many runs."""
    with many_runs(place) as (terminal, gaps_file):
        seconds = type_keys(terminal, keys)
        figures = {
            "key_to_paint_p50_ms": 1000 * statistics.median(seconds),
            "key_to_paint_p95_ms": 1000 * percentile(seconds, 0.95),
            "key_to_paint_max_ms": 1000 * max(seconds),
        }
        terminal.press("q")
        terminal.wait(10)
    gaps = json.loads(gaps_file.read_text())
    figures["loop_gap_p999_ms"] = 1000 * percentile(gaps, 0.999)
    figures["loop_gap_max_ms"] = 1000 * max(gaps)
    return figures


@contextmanager
def two_trainings(place: Path) -> Iterator[None]:
    """Two trainings, niced as the supervisor has them."""
    start = ["nice", "-n", "10", sys.executable, "-m", "rlhf.train_rl", "--quiet"]
    settings = {**os.environ, "TASK": str(ROOT / "fixture" / "task"), "OMP_NUM_THREADS": "1"}
    settings["PYTHONPATH"] = str(ROOT)
    config = place / "config.json"
    config.write_text(json.dumps({"steps": 100_000}))
    children = [
        subprocess.Popen(
            [*start, "--config", str(config), "--out", str(place / f"busy-{number}")],
            env=settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(2)
    ]
    time.sleep(5)  # torch is loaded by then
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--busy", action="store_true", help="also with both cores at work")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        figures: dict[str, Any] = {}
        starts = first_frame(place, 3 if arguments.quick else 9)
        figures["first_frame_median_s"] = statistics.median(starts)
        write_many(place, RUNS)
        keys, idle_s = (100, 10) if arguments.quick else (300, 60)
        figures["5000_runs"] = keys_and_gaps(place, keys)
        figures["idle_core_percent"] = 100 * idle_share(place, idle_s)
        if arguments.busy:
            with two_trainings(place):
                figures["5000_runs_busy"] = keys_and_gaps(place, keys)
    print(json.dumps(figures, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
