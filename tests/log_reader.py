"""The reader of a log in a thread, and the pages that it posted."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tui.log_page import Page
from tui.log_reading import LogReader


class Reading:
    """A reader in a thread, and the pages it posted."""

    def __init__(self, path: Path) -> None:
        self.pages: list[Page] = []
        self.reader = LogReader(self.pages.append, threading.Event())
        self.reader.resize(10)
        self.reader.open(path)
        self._thread = threading.Thread(target=self.reader.run)
        self._thread.start()

    def until(self, what: Callable[[Page], object], seconds: float = 60.0) -> Page:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.pages and what(self.pages[-1]):
                return self.pages[-1]
            time.sleep(0.01)
        raise AssertionError(f"last: {self.pages[-1:]}")

    def end(self) -> None:
        self.reader.close()
        self._thread.join(60)
        assert not self._thread.is_alive()


@contextmanager
def reader_of(path: Path) -> Iterator[Reading]:
    """A reader of a log, ended with the block."""
    one = Reading(path)
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "output.log"


def text(page: Page) -> list[str]:
    return [line.text for line in page.lines]


def numbered(first: int, last: int) -> str:
    return "".join(f"line {n}\n" for n in range(first, last))
