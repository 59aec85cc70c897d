"""The terminal is always given back, and nothing goes on alone."""

import os
import signal
import subprocess
import sys
import termios
import time

import pytest
from synthetic import SHIPPED, Console, open_terminal
from terminal import Terminal

RESTORED = (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[?2004l")


def echoes(terminal: Terminal) -> bool:
    """Whether the terminal is back to typing lines."""
    flags = termios.tcgetattr(terminal.master)[3]
    return bool(flags & termios.ECHO) and bool(flags & termios.ICANON)


def assert_given_back(terminal: Terminal) -> None:
    assert all(code in terminal.output for code in RESTORED)
    last = {code: terminal.output.rindex(code) for code in RESTORED}
    assert last[b"\x1b[?1049l"] > terminal.output.rindex(b"\x1b[?1049h")
    assert echoes(terminal)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_a_signal_gives_the_terminal_back(console: Console, sent: signal.Signals) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        assert not echoes(terminal)
        terminal.signal(sent)
        assert terminal.wait() == 143
        assert_given_back(terminal)


@pytest.mark.parametrize(
    "keys",
    [["q"], ["ctrl+c"], [":", "ctrl+c"], ["/", "x", "ctrl+c"]],
    ids=["q", "ctrl+c", "ctrl+c in a dialog", "ctrl+c in the filter"],
)
def test_leaving_gives_the_terminal_back(console: Console, keys: list[str]) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press(*keys)
        assert terminal.wait() == 0
        assert_given_back(terminal)


def patched(console: Console, patch: str) -> list[str]:
    """The dashboard's command with some of its code replaced first."""
    command = console.command("--read-only")
    command[2] = f"import tui.dashboard as d; d.tune_textual(); {patch}; {command[2]}"
    return command


def start(console: Console, patch: str, **environment: str) -> Terminal:
    """The dashboard with a patch, in a terminal."""
    command = patched(console, patch)
    console.command = lambda *_: command  # type: ignore[method-assign]
    return open_terminal(console, 80, 24, **environment)


def test_a_stuck_event_loop_is_ended_by_force(console: Console) -> None:
    mark = console.place / "stuck"
    stuck = "import pathlib, time, tui.app as a; a.ConsoleApp.action_keys = lambda self: "
    stuck += f"(pathlib.Path({str(mark)!r}).touch(), time.sleep(600))"
    with start(console, stuck) as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("?")
        terminal.until(mark.exists)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait() == 143
        assert_given_back(terminal)


def test_an_exception_gives_the_terminal_back(console: Console) -> None:
    with start(console, "import tui.app as a; a.ConsoleApp.action_keys = lambda self: 1 / 0") as t:
        t.sees("reference", *SHIPPED)
        t.press("?")
        assert t.wait() == 1
        assert_given_back(t)
        assert b"ZeroDivisionError" in t.output


def test_an_error_in_a_worker_is_a_dialog_that_names_its_log(console: Console) -> None:
    with start(console, "import tui.background as a; a.follow_logs = lambda *x: 1 / 0") as terminal:
        terminal.sees("Something in the background failed", "division by zero", "dashboard.log")
        log = next((console.place / "cache").rglob("dashboard.log"))
        assert "ZeroDivisionError" in log.read_text()
        terminal.press("esc")
        terminal.sees(*SHIPPED)


@pytest.mark.parametrize("ignored", [False, True], ids=["", "SIGHUP ignored"])
def test_a_closed_terminal_ends_it(console: Console, ignored: bool) -> None:
    patch = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" if ignored else "pass"
    terminal = start(console, patch)
    terminal.sees("reference", *SHIPPED)
    os.close(terminal.master)
    ended(terminal)


def ended(terminal: Terminal) -> int:
    """How the program ended, with nobody taking what it writes."""
    end = time.monotonic() + 60
    while (found := os.waitpid(terminal.pid, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < end
        time.sleep(0.05)
    return os.waitstatus_to_exitcode(found[1])


FLOOD = """
import tui.app as a
def flood(self):
    open('{0}', 'w').close()
    while True: self._driver.write('x' * 9999)
a.ConsoleApp.action_keys = flood
"""


def test_a_terminal_that_takes_nothing_holds_up_no_end(console: Console) -> None:
    flooding = console.place / "flooding"
    terminal = start(console, f"exec({FLOOD.format(flooding)!r})")
    terminal.sees("reference", *SHIPPED)
    terminal.press("?")
    terminal.until(flooding.exists)
    terminal.signal(signal.SIGTERM)
    assert ended(terminal) == 143
    os.close(terminal.master)


@pytest.mark.parametrize("how", ["quit", "term", "hang-up"])
def test_an_evaluation_under_way_ends_with_the_dashboard(console: Console, how: str) -> None:
    terminal = open_terminal(console, 80, 24, EVALUATE_MODE="hang")
    terminal.sees("measuring reference (1/6)", "row 1 of 6", *SHIPPED)
    terminal.until(lambda: console.evaluated() == 1)
    if how == "quit":
        terminal.press("q")
    elif how == "term":
        terminal.signal(signal.SIGTERM)
    else:
        os.close(terminal.master)
    end = time.monotonic() + 60
    while os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
        if how != "hang-up":
            terminal.read(0.02)
        assert time.monotonic() < end
    with pytest.raises(ProcessLookupError):
        os.kill(int(console.calls.read_text().split()[0]), 0)
    assert not list((console.place / "cache").rglob("eval/*"))


def test_evaluations_appear_when_they_are_made(console: Console) -> None:
    with open_terminal(console, 160, 24) as terminal:
        terminal.sees("reference", *SHIPPED)
        figures = console.run("runs", "--filter", "name=kl05-s800", "--csv", "--evaluate", "0")
        terminal.until(lambda: console.evaluated() == 6)
        terminal.until(lambda: "measuring" not in terminal.text)
        assert figures.returncode == 0
        terminal.until(lambda: terminal.line("kl05-s800").count(" - ") < 4)


def test_a_broken_task_is_said_before_the_screen_is_taken(console: Console) -> None:
    (console.task / "policy" / "policy.safetensors").unlink()
    with open_terminal(console) as terminal:
        assert terminal.wait() == 3
        assert b"1049h" not in terminal.output
        assert "is broken, policy/policy.safetensors is missing" in terminal.text.replace("\n", "")


def test_torch_is_neither_imported_nor_mapped(console: Console) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("down", "enter")
        terminal.sees("at step")
        with open(f"/proc/{terminal.pid}/maps") as maps:
            assert "torch" not in maps.read()
    loaded = "import sys, tui.app; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True)
    assert out.stdout.strip() == "[]"
