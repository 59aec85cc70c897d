"""A terminal for tests: the program in a pty of its own, its screen kept by pyte.

It knows synchronised output, as most terminals do: a frame is on the screen whole or not at all.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte
from leftovers import marked

KEYS = {
    "enter": "\r",
    "esc": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pgup": "\x1b[5~",
    "pgdn": "\x1b[6~",
    "space": " ",
    "ctrl+c": "\x03",
}


ASKED, SUPPORTED = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
FRAME, FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
NOT_OF_PYTE = (b"\x1b[<u", b"\x1b[>25u", ASKED)


class Terminal:
    """`command` in a pty of `columns` by `lines`; a context manager that ends it."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], columns: int, lines: int
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.output = b""
        self._ahead = b""  # of a frame that has not ended
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], list(command), {**environment, **marked()})
        self.resize(columns, lines)
        self.code: int | None = None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(5)
        os.close(self.master)

    def resize(self, columns: int, lines: int) -> None:
        """Give the window another size, as a person would."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def press(self, *keys: str) -> None:
        """Type keys by name, or text as it is."""
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())
            if key == "esc":
                time.sleep(0.15)  # else what follows would be read as one escape sequence

    def read(self, seconds: float) -> bool:
        """Take in output for at most `seconds`; False once the program's end is closed."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            if not data:
                return False
            self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        """Show what has come, up to a frame that is still being drawn."""
        asked = ASKED in self.output
        self.output += data
        if not asked and ASKED in self.output:
            os.write(self.master, SUPPORTED)
        whole, self._ahead = _split(self._ahead + data)
        for sequence in NOT_OF_PYTE:
            whole = whole.replace(sequence, b"")
        self._stream.feed(whole)

    def settle(self, quiet: float = 0.15, most: float = 5.0) -> None:
        """Take in output until there is none for a while."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            before = len(self.output)
            self.read(quiet)
            if len(self.output) == before:
                return

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Take in output until `condition` holds; fails with the screen if it never does."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("not seen in time:\n" + self.text)
            if not self.read(0.05):
                time.sleep(0.05)  # the program has ended; what it left may still change

    def sees(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        self.until(lambda: all(text in self.text for text in texts))

    @property
    def text(self) -> str:
        """The screen's lines."""
        return "\n".join(self.screen.display)

    def line(self, text: str) -> str:
        """The first line of the screen that holds `text`."""
        return next((line for line in self.screen.display if text in line), "")

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds: float = 60) -> int:
        """The program's exit code; fails if it does not end in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.settle()  # its last words may still be on their way
                return self.code
        raise AssertionError("still running:\n" + self.text)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """What can be shown, and the rest: a frame without its end, or the first bytes of one."""
    begins = data.rfind(FRAME)
    if begins > data.rfind(FRAME_ENDS):
        return data[:begins], data[begins:]
    cut = next((n for n in range(len(FRAME) - 1, 0, -1) if data.endswith(FRAME[:n])), 0)
    return data[: len(data) - cut], data[len(data) - cut :]
