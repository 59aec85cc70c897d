"""Sessions under load: 5,000 runs listed, a 1 GB log, 10,000 lines a second, 50 kills.

python tests/bench/bench_sessions.py [--only runs,log,lines,kills] [--out bench_sessions.json]
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from kill_harness import Storm  # noqa: E402
from synthetic import row, write_run  # noqa: E402
from toy_lab import Lab  # noqa: E402

from sessions.identity import identify  # noqa: E402
from sessions.log_follow import Follower  # noqa: E402
from sessions.log_pages import LineIndex, last_page  # noqa: E402
from sessions.record import new_record  # noqa: E402
from sessions.supervise import python_environment  # noqa: E402

RUNS, ALIVE, ROWS = 5000, 20, 40
PATIENCE_S = 600.0  # ahead of the clock, so that none is silent too long while this lasts
LOG_BYTES = 1_000_000_000
LINE = b"step 123456/200000  proxy 1.234  kl 5.678 nats  entropy 2.345  99.9 s\n"
LINES_A_SECOND, FOLLOW_S = 10_000, 10
KILLS = 50


def bench_runs(root: Path) -> dict[str, Any]:
    """Seconds of `rlhf-tui runs --json` with 5,000 runs, warm and with the cache deleted."""
    lab = Lab(root)
    with _alive(ALIVE) as pids:
        for number in range(RUNS):
            _write_run(lab, number, pids[number] if number < ALIVE else None)
        command = [sys.executable, "-m", "tui.cli", "--task", str(lab.task)]
        command += ["--workspace", str(lab.workspace.root), "runs", "--json", "--evaluate", "0"]
        env = {**python_environment(), "XDG_CACHE_HOME": str(root / "cache")}
        cold = []
        for _ in range(3):
            shutil.rmtree(root / "cache", ignore_errors=True)
            cold.append(_seconds(command, env))
        before = _used()
        warm = [_seconds(command, env) for _ in range(9)]
        cpu = (_used() - before) / len(warm)
        listed = json.loads(subprocess.run(command, env=env, capture_output=True).stdout)
    states = [run["state"] for run in listed["runs"] if run["source"] == "workspace"]
    return {
        "runs": len(states),
        "running": states.count("running"),
        "warm_s": round(median(warm), 3),
        "warm_cpu_s": round(cpu, 3),
        "cold_s": round(median(cold), 3),
        "bars": {"warm_s": 1.0, "cold_s": 10.0},
    }


@contextmanager
def _alive(count: int) -> Iterator[list[int]]:
    """Pids of processes that only live."""
    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(count)]
    try:
        yield [sleeper.pid for sleeper in sleepers]
    finally:
        for sleeper in sleepers:
            sleeper.send_signal(signal.SIGKILL)
            sleeper.wait()


def _write_run(lab: Lab, number: int, pid: int | None) -> None:
    folder = lab.workspace.runs / f"run-{number:04d}"
    write_run(folder, seed=number, rows=ROWS, finished=pid is None)
    process = identify(pid or os.getpid())
    assert process is not None
    logged_s = row(ROWS, ROWS, 800, 1, 1)["elapsed_s"]
    begun = {"monotonic": time.monotonic() - logged_s + PATIENCE_S}
    config = json.loads((folder / "run_config.json").read_text())
    command = [sys.executable, "-P", "-m", "rlhf.train_rl"]
    record = new_record("run", f"run {number}", command, config=config, seed=number)
    record["process"] = process.as_dict() | begun
    (folder / "run.json").write_text(json.dumps(record))
    if pid is None:
        receipt = {"format": 1, "outcome": "finished", "reason": None, "steps": 800, "wall_s": 120}
        (folder / "done.json").write_text(json.dumps(receipt))


def _used() -> float:
    """Seconds of a core that children of this process have used so far."""
    children = os.times()
    return children.children_user + children.children_system


def _seconds(command: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def bench_log(root: Path) -> dict[str, Any]:
    """Seconds to the last page of a 1 GB log, and to its whole index."""
    path = root / "output.log"
    block = LINE * (1 << 14)
    with open(path, "wb") as file:
        for _ in range(LOG_BYTES // len(block) + 1):
            file.write(block)
    pages = [_timed(lambda: last_page(path, 100)) for _ in range(9)]
    index, pieces, more = LineIndex(path), [], True
    while more:
        began = time.perf_counter()
        more = index.grow()
        pieces.append(time.perf_counter() - began)
    middle = _timed(lambda: index.page(index.lines // 2, 100))
    lines = index.lines
    index.close()
    path.unlink()
    return {
        "bytes": LOG_BYTES,
        "lines": lines,
        "last_page_s": round(max(pages), 4),
        "index_s": round(sum(pieces), 2),
        "longest_piece_of_index_s": round(max(pieces), 3),
        "middle_page_s": round(middle, 4),
        "bars": {"last_page_s": 0.3},
    }


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def bench_lines(root: Path) -> dict[str, Any]:
    """A writer of 10,000 lines a second and a reader beside it: lag and cost of the reader."""
    path = root / "output.log"
    path.touch()
    writer = threading.Thread(target=_write_lines, args=(path,))
    follower, seen, used, lag = Follower(path), 0, 0.0, 0.0
    writer.start()
    while seen < LINES_A_SECOND * FOLLOW_S:
        began = time.thread_time()
        seen += len(follower.poll().lines)
        used += time.thread_time() - began
        lag = max(lag, (path.stat().st_size - follower.offset) / len(LINE) / LINES_A_SECOND)
        time.sleep(0.05)
    writer.join()
    follower.close()
    return {
        "lines_per_s": LINES_A_SECOND,
        "lines": seen,
        "reader_share_of_a_core": round(used / FOLLOW_S, 4),
        "reader_could_lines_per_s": round(seen / used),
        "longest_lag_s": round(lag, 3),
        "bars": {"reader_could_lines_per_s": LINES_A_SECOND},
    }


def _write_lines(path: Path) -> None:
    began = time.monotonic()
    with open(path, "ab", buffering=0) as file:
        for tick in range(100 * FOLLOW_S):
            file.write(LINE * (LINES_A_SECOND // 100))
            time.sleep(max(0.0, began + (tick + 1) / 100 - time.monotonic()))


def bench_kills(root: Path) -> dict[str, Any]:
    """50 kills of run, supervisor and dashboard at random points of a sweep of 6."""
    os.environ |= {"TOY_STEP_S": "0.05", "XDG_CACHE_HOME": str(root / "cache")}
    report = Storm(Lab(root), kills=KILLS, chance=random.Random(), steps=100).report()
    once = report["starts"] == report["attempts"]
    kept = ("runs", "kills", "resumed", "longest_wrong_s", "wrong", "weights_same", "seconds")
    bars = {"longest_wrong_s": 2.0}
    return {key: report[key] for key in kept} | {"each_attempt_begun_once": once, "bars": bars}


BENCHES = {"runs": bench_runs, "log": bench_log, "lines": bench_lines, "kills": bench_kills}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(BENCHES))
    parser.add_argument("--out", type=Path, default=Path("bench_sessions.json"))
    arguments = parser.parse_args()
    figures = {}
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory(prefix="rlhf-tui-bench-") as folder:
            figures[name] = BENCHES[name](Path(folder))
        print(name, json.dumps(figures[name]), flush=True)
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
