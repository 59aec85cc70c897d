"""Applying a filter to runs: a pattern in it may be slow, but never keeps the screen waiting."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .fields import Run
from .filter import FilterError, Test

PASS_S = 0.2  # of processor time that a filter may take over all the runs


def passing(test: Test, runs: Iterable[Run], seconds: float = PASS_S) -> list[Run]:
    """The runs that a filter holds for. Raises FilterError if it takes too long."""
    with _limited(seconds):
        return [run for run in runs if test(run)]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """End the block by an error when it has used so much processor time; `re` lets signals in.

    Only the main thread gets signals: elsewhere nothing is limited, and nothing waits for it.
    A timer that runs already goes on afterwards, with what is left of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    outer, every = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    left = 0.0
    try:
        try:
            yield
        finally:
            left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(outer - seconds + left, 1e-6), every)


def _stop(number: int, frame: Any) -> None:
    raise FilterError("the pattern takes too long on these runs: anchor it, or use fewer * and +")
