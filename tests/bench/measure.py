"""Timing that holds on a noisy machine: interleaved blocks, medians, ratios within one run."""

import time
from collections.abc import Callable, Mapping
from statistics import median

BLOCKS = 7


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Seconds of one of `repeats` calls."""
    began = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - began) / repeats


def interleaved(
    actions: Mapping[str, tuple[Callable[[], object], int]], blocks: int = BLOCKS
) -> dict[str, list[float]]:
    """Seconds a call of each action (name -> action, calls a block), in turn, after a warm-up."""
    for action, _ in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(blocks):
        for name, (action, repeats) in actions.items():
            times[name].append(seconds(action, repeats))
    return times


def ratio(slow: list[float], fast: list[float]) -> float:
    """Median over blocks of how many times faster `fast` is, block by block."""
    return median(a / b for a, b in zip(slow, fast, strict=True))


def middle(times: list[float]) -> float:
    return median(times)
