"""Two trainings at once: a worker that trains when told, and the throughput of two over one."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from measure import BLOCKS
from trainings import Ours

from rlhf.kernels import prepare_process


def worker(out: Path) -> None:
    """Train 40 steps whenever a line arrives on stdin; answer with the seconds."""
    ours = Ours(out)
    ours.steps(10)
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        ours.steps(40)
        print(time.perf_counter() - began, flush=True)


def side_by_side(folder: Path) -> dict[str, Any]:
    """Throughput of two trainings at once over that of one."""
    command = [sys.executable, __file__, str(folder)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for each in workers:
            _answer(each)
        gains = [_pair_gain(workers) for _ in range(BLOCKS)]
    finally:
        for each in workers:
            each.kill()
            each.wait()
    return {"times_the_throughput_of_one": median(gains)}


def _pair_gain(workers: list[subprocess.Popen[str]]) -> float:
    solo = _timed(workers[:1])
    return 2 * solo / _timed(workers)


def _timed(workers: list[subprocess.Popen[str]]) -> float:
    began = time.perf_counter()
    for each in workers:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in workers:
        _answer(each)
    return time.perf_counter() - began


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


if __name__ == "__main__":
    prepare_process()
    worker(Path(sys.argv[1]))
