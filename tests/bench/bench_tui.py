"""How fast the dashboard is, measured from outside, through a pty.

    python tests/bench/bench_tui.py [--out FILE] [--quick] [--busy]

prints, and with --out writes as JSON: exec to a frame with all six names; with 5,000 runs listed,
key to paint of 300 keys of ten kinds, the event loop's gaps while they are typed, and the share
of a core that an idle minute costs; the same keys and gaps of the launch form, with a sweep of a
thousand runs in it. --busy repeats the keys with two niced trainings at work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "bench")]

from measured_console import environment, many_runs, measured, paint, write_many  # noqa: E402
from terminal import Terminal  # noqa: E402

NAMES = ("reference", "default-s800", "kl002-s1500", "kl05-s800", "pilotmix-s800", "fourfam-s800")
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
SWEEP = (  # kl, steps, lr: a thousand runs
    [f"{n / 100:g}" for n in range(1, 11)],
    [str(100 * n) for n in range(1, 11)],
    [f"{n}e-4" for n in range(1, 11)],
)
BACK = "\x7f"
# the last learning rate becomes another and back, between steps to the fields beside it
FORM_ROUND = [*("5", BACK, "1", "2", BACK, BACK, "up", "down"), *("3", "4", "5", *3 * [BACK])]


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


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(place: Path, seconds: float) -> float:
    """The share of a core used while nobody touches the dashboard over the many runs."""
    with many_runs(place, "--read-only") as terminal:
        return _idle_share(terminal, seconds)


def _idle_share(terminal: Terminal, seconds: float) -> float:
    before, began = cpu_seconds(terminal.pid), time.monotonic()
    terminal.read(0)
    while time.monotonic() - began < seconds:
        terminal.read(1.0)
        time.sleep(1.0)
    return (cpu_seconds(terminal.pid) - before) / (time.monotonic() - began)


def keys_in_the_list(keys: int) -> Callable[[Terminal], list[float]]:
    """Ten kinds of keys in the list and the panes."""
    return lambda terminal: type_keys(terminal, keys)


def keys_in_the_form(keys: int) -> Callable[[Terminal], list[float]]:
    """A sweep of a thousand runs is in the form, and its last values are typed over and over.

    Every eighth key comes after a pause in which the form begins to check what is typed.
    """

    def act(terminal: Terminal) -> list[float]:
        terminal.press("n")
        terminal.sees("save-every")
        for values in SWEEP:
            terminal.press("end", *20 * [BACK], *",".join(values), "down")
        terminal.sees("1000 runs")
        terminal.press("up")
        seconds: list[float] = []
        while len(seconds) < keys:
            for number, key in enumerate(FORM_ROUND):
                terminal.read(0.2 if number % 8 == 0 else 0.02)
                seconds += [took] if (took := paint(terminal, key)) is not None else []
        terminal.press("esc")
        return seconds

    return act


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


def typed(place: Path, keys: int) -> dict[str, dict[str, float]]:
    """Figures of typing in the list, and in the launch form."""
    return {
        "5000_runs": measured(place, keys_in_the_list(keys), "--read-only"),
        "launch_form": measured(place, keys_in_the_form(keys)),
    }


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
        write_many(place)
        keys, idle_s = (100, 10) if arguments.quick else (300, 60)
        figures |= typed(place, keys)
        figures["idle_core_percent"] = 100 * idle_share(place, idle_s)
        if arguments.busy:
            with two_trainings(place):
                figures |= {f"{name}_busy": told for name, told in typed(place, keys).items()}
    print(json.dumps(figures, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
