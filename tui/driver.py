"""The terminal: always given back, never spun on when it is gone, ASCII where it must be."""

import os
import select
import signal
import termios
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from textual import constants
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from .exits import Exit
from .render import ascii_only

LOOK_S = 0.1  # between looks at whether the program ends
ESCAPE_S = constants.ESCAPE_DELAY
PATIENCE_S = 2.0  # how long an orderly end may take before the terminal is given back by force
TAKEN_S = 1.0  # how long the terminal may take for that; a connection that hangs takes nothing
_RESTORE = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[<u"
_LEAVE = b"\x1b[?1049l\x1b[?25h\x1b[0m"


class ConsoleDriver(LinuxDriver):
    """Textual's driver, with signals and hang-ups seen to.

    `on_end(code)` is called, in the main thread, when a signal asks the program to end;
    `last_will` is called, in any thread, right before it ends without its event loop.
    """

    ascii = False
    on_end: Callable[[int], None] | None = None
    last_will: Callable[[], None] | None = None

    def start_application_mode(self) -> None:
        """Take the terminal, and watch over it."""
        super().start_application_mode()
        for sent in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(sent) is not signal.SIG_IGN:
                signal.signal(sent, self._asked_to_end)
        threading.Thread(target=self._watch_for_hang_up, name="hang-up", daemon=True).start()

    def write(self, data: str) -> None:
        """Write to the terminal, in ASCII if need be."""
        super().write(ascii_only(data) if self.ascii else data)

    def _asked_to_end(self, _number: int, _frame: Any) -> None:
        force = threading.Timer(PATIENCE_S, self._end_by_force)
        force.daemon = True
        force.start()
        if self.on_end is not None:
            self.on_end(Exit.TERMINATED)

    def _watch_for_hang_up(self) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)  # nothing but: it is gone
        poll.poll()
        self._end()

    def _run_input_thread(self) -> None:
        try:
            super()._run_input_thread()
        except OSError:
            self._end()

    def run_input_thread(self) -> None:
        """Turn what is typed into events; a lone escape waits only ESCAPE_S for more to come."""
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        parser = XTermParser(self._debug)
        wait = LOOK_S
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], wait)[0]:
                data = os.read(self.fileno, 4096)
                if not data:
                    return self._end()  # the end of a terminal is the end of the session
                self._hand_on(parser.feed(decode(data)))
                wait = ESCAPE_S if data.endswith(b"\x1b") else LOOK_S
            else:
                wait = LOOK_S
            self._hand_on(parser.tick())
        return None

    def _hand_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _end_by_force(self) -> None:
        """Give the terminal back without the event loop, which does not answer, and end."""
        giving = threading.Thread(target=self._give_back, daemon=True)
        giving.start()
        giving.join(TAKEN_S)
        self._end()

    def _give_back(self) -> None:
        with suppress(OSError, termios.error):  # it is gone: nobody is left to restore it for
            if self.attrs_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            os.write(2, _RESTORE + _LEAVE)

    def _end(self) -> None:
        if self.last_will is not None:
            self.last_will()
        os._exit(Exit.TERMINATED)
