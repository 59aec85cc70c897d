"""What the terminal is: none at all, one that only types, one without glyphs or colours, tmux."""

import os
import subprocess

import pytest
from synthetic import SHIPPED, Console, open_terminal


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_no_terminal_is_one_line_and_exit_2(console: Console, stream: str) -> None:
    master, slave = os.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    streams[stream] = subprocess.DEVNULL if stream == "stdin" else subprocess.PIPE
    child = subprocess.Popen(console.command(), env=console.environment, **streams)
    assert child.wait(60) == 2
    os.close(slave)
    said = child.stderr.read() if child.stderr else os.read(master, 4096)
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()
    os.close(master)
    assert said.count(b"\n") == 1 and b"needs a terminal" in said


def test_where_ssh_gave_no_terminal_the_way_to_one_is_said(console: Console) -> None:
    console.environment.pop("SSH_TTY", None)
    assert "ssh -t gives one" in console.run(SSH_CONNECTION="::1 1 ::1 2").stderr


def test_a_terminal_that_only_types_is_named(console: Console) -> None:
    with open_terminal(console, TERM="dumb") as terminal:
        assert terminal.wait(60) == 2
        assert "needs a terminal, not TERM=dumb" in terminal.text


@pytest.mark.parametrize(
    "settings",
    [{"LANG": "C"}, {"TERM": "linux"}, {"RLHF_TUI_LOOK": "ascii"}],
    ids=["LANG=C", "TERM=linux", "ASCII look"],
)
def test_ascii_where_the_terminal_draws_no_more(console: Console, settings: dict[str, str]) -> None:
    with open_terminal(console, 80, 24, "--read-only", **settings) as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("down", "enter")
        terminal.sees("at step 800")
        terminal.press("?")
        terminal.sees("Next metric")
        terminal.press("esc", "V")
        terminal.sees("*")  # the curve
        terminal.settle()
        assert terminal.output.isascii()


def test_no_color_sends_no_colour_and_still_shows_the_cursor(console: Console) -> None:
    with open_terminal(console, 80, 24, "--read-only", NO_COLOR="1") as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("down")
        cells = terminal.screen.buffer[4]
        terminal.until(lambda: any(cells[column].reverse for column in range(12, 20)))
        assert not any(f"\x1b[{n}".encode() in terminal.output for n in ("38;", "48;"))
        assert b";38;5" not in terminal.output and b";48;5" not in terminal.output


@pytest.mark.parametrize("takes", [True, False], ids=["taken", "refused"])
def test_a_copy_in_tmux_is_handed_to_tmux(console: Console, takes: bool) -> None:
    given, tmux = console.place / "given", console.place / "tmux"
    tmux.write_text(
        f'#!/bin/sh\n{{ echo "$@"; cat; }} > {given}\n{"exit" if takes else "exit 1"}\n'
    )
    tmux.chmod(0o755)
    path = f"{console.place}:{os.environ['PATH']}"
    with open_terminal(console, 80, 24, "--read-only", PATH=path, TMUX="socket,1,0") as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("y")
        terminal.sees("copied reference" if takes else "tmux did not take the copy")
        terminal.until(
            lambda: given.exists() and given.read_text() == "load-buffer -w -\nreference"
        )
