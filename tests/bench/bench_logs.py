"""What a log costs the dashboard: its last page, following, and a pattern that never ends.

python tests/bench/bench_logs.py [MEGABYTES]
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tui.log_reading import LogReader, Page

LINES_A_SECOND = 10_000
FOLLOWED_S = 5


class Watched:
    """A reader in a thread, and when it posted what."""

    def __init__(self, path: Path) -> None:
        self.pages: list[Page] = []
        self.reader = LogReader(self.pages.append, threading.Event())
        self.reader.resize(45)
        self.reader.open(path)
        self._thread = threading.Thread(target=self.reader.run)
        self._thread.start()

    def seconds_until(self, what: Callable[[Page], object]) -> float:
        """Until a page fits, at most a minute."""
        began = time.perf_counter()
        while not (self.pages and what(self.pages[-1])):
            if time.perf_counter() - began > 60:
                raise SystemExit("it never came")
            time.sleep(0.001)
        return time.perf_counter() - began

    def end(self) -> None:
        """End the thread."""
        self.reader.close()
        self._thread.join()


def last_page(path: Path, megabytes: int) -> None:
    """Open a large log, and cancel a pattern on it that would not end."""
    block = "".join(f"step {n} proxy 1.234 kl 0.567 nats\n" for n in range(30_000)).encode()
    with open(path, "wb") as file:
        for _ in range(megabytes * 10**6 // len(block)):
            file.write(block)
        file.write(b"a" * 9_999 + b"!\n")
    watched = Watched(path)
    try:
        shown = watched.seconds_until(lambda page: page.lines)
        print(f"last page of {path.stat().st_size / 1e6:.0f} MB: {1000 * shown:.1f} ms")
        numbered = watched.seconds_until(lambda page: page.first is not None)
        print(f"line numbers after {numbered:.2f} s more")
        watched.reader.search("(a|aa)+$", True)
        watched.seconds_until(lambda page: page.searching)
        watched.reader.cancel()
        ended = watched.seconds_until(lambda page: not page.searching)
        print(f"a pattern that never ends is cancelled in {1000 * ended:.1f} ms")
    finally:
        watched.end()


def following(path: Path) -> None:
    """Follow a log that gains 10,000 lines a second."""
    path.write_text("")
    watched, began, total = Watched(path), time.perf_counter(), LINES_A_SECOND * FOLLOWED_S
    with open(path, "a") as file:
        for tick in range(20 * FOLLOWED_S):
            first = tick * LINES_A_SECOND // 20
            file.writelines(f"line {n}\n" for n in range(first, first + LINES_A_SECOND // 20))
            file.flush()
            time.sleep(max(0.0, began + (tick + 1) / 20 - time.perf_counter()))
    try:
        late = watched.seconds_until(lambda page: page.known == total)
        pages = len(watched.pages) / (time.perf_counter() - began)
        print(f"followed {total} lines, {pages:.1f} pages a second, {1000 * late:.0f} ms late")
        print(f"last line shown: {watched.pages[-1].lines[-1].text}")
    finally:
        watched.end()


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        last_page(Path(folder) / "output.log", megabytes)
        following(Path(folder) / "followed.log")


if __name__ == "__main__":
    main()
