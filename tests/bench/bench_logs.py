"""What a log costs in the Logs pane, measured from outside, through a pty.

    python tests/bench/bench_logs.py [--megabytes 1000] [--out FILE]

prints, and with --out writes as JSON: key 4 to the last page of a large log; key to paint without
and with a pattern at work that never ends, and how long esc takes to end it; and the bursts of
paint a second while the log gains 10,000 lines a second.
"""

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "bench")]

from measured_console import QUIET_S, environment, paint  # noqa: E402
from synthetic import write_run, write_task  # noqa: E402
from terminal import Terminal  # noqa: E402

LAST = "the very last line"
ENDLESS = "(a|aa)+$"
ROUND = ("up", "up", "down", "up", "pgup", "pgdn")
TICKS, LINES = 50, 1000  # ten ticks a second, lines a tick


def write_log(path: Path, megabytes: int) -> None:
    """Numbered lines, one of 10,000 characters for the pattern, and the last one."""
    block = b"".join(b"step %07d  proxy 0.123  kl 1.234 nats\n" % n for n in range(25_000))
    with open(path, "wb") as file:
        while file.tell() < megabytes * 10**6:
            file.write(block)
        file.write(b"a" * 9_999 + b"!\n" + LAST.encode() + b"\n")


def seconds_until_last_page(terminal: Terminal) -> float:
    """From key 4 to a screen with the last line."""
    began = time.perf_counter()
    terminal.press("4")
    terminal.until(lambda: LAST in terminal.text, 30)
    return time.perf_counter() - began


def key_to_paint(terminal: Terminal, name: str) -> dict[str, float]:
    """Median and 95th percentile over 48 keys, in ms."""
    seconds = []
    for key in ROUND * 8:
        terminal.read(0.05)
        took = paint(terminal, key)
        if took is not None:
            seconds.append(1000 * took)
    seconds.sort()
    high = seconds[int(0.95 * len(seconds))]
    return {f"{name}_p50_ms": statistics.median(seconds), f"{name}_p95_ms": high}


def with_endless_pattern(terminal: Terminal) -> dict[str, float]:
    """Keys while the pattern is at work; then the time until esc has ended it."""
    terminal.press("end", "/", ENDLESS, "enter")
    terminal.until(lambda: "searching" in terminal.text)
    figures = key_to_paint(terminal, "keys_while_searching")
    began = time.perf_counter()
    terminal.press("esc")
    terminal.until(lambda: "searching" not in terminal.text)
    return figures | {"esc_ends_it_s": time.perf_counter() - began}


def feed(log: Path) -> None:
    """10,000 lines a second."""
    began = time.perf_counter()
    with open(log, "ab") as file:
        for tick in range(TICKS):
            first = tick * LINES
            file.write(b"".join(b"new %07d\n" % n for n in range(first, first + LINES)))
            file.flush()
            time.sleep(max(0.0, began + (tick + 1) / 10 - time.perf_counter()))


def following(terminal: Terminal, log: Path) -> dict[str, Any]:
    """Bursts of paint a second while the log grows, and when its last line is on screen."""
    terminal.press("end")
    terminal.settle(0.5, 3)
    feeder = threading.Thread(target=feed, args=(log,))
    began = time.perf_counter()
    feeder.start()
    bursts, last = 0, 0.0
    while feeder.is_alive():
        before = len(terminal.output)
        terminal.read(0.005)
        if len(terminal.output) > before:
            now = time.perf_counter()
            bursts += now - last > QUIET_S
            last = now
    rate = bursts / (time.perf_counter() - began)
    ended = time.perf_counter()
    terminal.until(lambda: f"new {TICKS * LINES - 1:07d}" in terminal.text)
    return {"paints_a_second": rate, "last_line_late_s": time.perf_counter() - ended}


def measure(place: Path, megabytes: int) -> dict[str, Any]:
    """All figures, of one dashboard."""
    task = write_task(place / "task")
    log = write_run(place / "workspace" / "runs" / "big") / "output.log"
    write_log(log, megabytes)
    command = [sys.executable, "-m", "tui.cli", "--task", str(task), "--read-only"]
    with Terminal(command, environment(place), 120, 40) as terminal:
        terminal.until(lambda: " big " in terminal.text)
        terminal.press("/", "big", "enter")
        terminal.settle(0.5, 3)
        figures: dict[str, Any] = {"last_page_s": seconds_until_last_page(terminal)}
        terminal.settle(1.0, 10)
        figures |= key_to_paint(terminal, "keys")
        figures |= with_endless_pattern(terminal)
        figures |= following(terminal, log)
        terminal.press("q")
        terminal.wait(10)
    return figures


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), arguments.megabytes)
    print(json.dumps(figures, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
