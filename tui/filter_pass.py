"""Applying a filter to runs: a pattern in it may be slow, but never keeps the screen waiting."""

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .fields import Run
from .filter import FilterError, Test

PASS_S = 0.2  # of its thread's processor time that a filter may take over all the runs
AGAIN_S = 0.025  # that one may take which is typed on after another took too long
TOO_LONG = "the pattern takes too long on these runs: anchor it, or use fewer * and +"


class SlowFilter(FilterError):
    """A filter that can be read, but took too long."""


def passing(test: Test, runs: Iterable[Run], seconds: float = PASS_S) -> list[Run]:
    """The runs that a filter holds for. Raises SlowFilter if it takes too long."""
    with _limited(seconds):
        return [run for run in runs if test(run)]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """End the block by an error when its thread has used so much; `re` lets signals in.

    Only the main thread gets signals: elsewhere nothing is limited, and nothing waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    end = time.thread_time() + seconds

    def look(number: int, frame: Any) -> None:
        left = end - time.thread_time()
        if left <= 0:
            raise SlowFilter(TOO_LONG)
        signal.setitimer(signal.ITIMER_VIRTUAL, left)  # it counts what other threads use, too

    signal.signal(signal.SIGVTALRM, look)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, _too_late)


def _too_late(number: int, frame: Any) -> None:
    """A signal that is still under way when the block is over; by default it would kill."""
