"""Searching and filtering a log: what matches, in the reader and by `logs --grep`."""

import os
import signal
from pathlib import Path

import pytest
from log_reader import numbered, reader_of, text
from synthetic import Console, write_run

from tui.log_reading import FAILED


def test_a_filter_shows_only_what_matches_and_goes_on(log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("7$", True)
        assert text(one.until(lambda p: p.found == 10))[-1] == "line 97"
        with open(log, "a") as file:
            file.write(numbered(100, 110))
        page = one.until(lambda p: p.found == 11)
        assert text(page)[-1] == "line 107" and page.spans[page.lines[-1].offset] == (7, 8)
        one.reader.cancel()
        assert text(one.until(lambda p: not p.filtered))[-1] == "line 109"


@pytest.mark.parametrize("how", ["truncated", "replaced", "rewritten longer"])
def test_a_filter_forgets_a_log_that_is_another_one(how: str, log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("7$", True)
        one.until(lambda p: p.found == 10 and not p.searching)
        new = log.parent / "new" if how == "replaced" else log
        new.write_text(
            "a new 7\nline 97 no more\n" + "x" * 2000 * (how == "rewritten longer") + "\n"
        )
        new.replace(log)
        assert text(one.until(lambda p: p.found == 1 and p.lines)) == ["a new 7"]
        with open(log, "a") as file:
            file.write("another 7\n")
        assert text(one.until(lambda p: p.found == 2)) == ["a new 7", "another 7"]


def test_a_filter_over_most_of_a_huge_log_shows_its_newest_lines_at_once(log: Path) -> None:
    log.write_text(numbered(0, 400_000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("line", True)
        page = one.until(lambda p: p.filtered and p.lines)
        assert text(page)[-1] == "line 399999", "the oldest came first"
        page = one.until(lambda p: not p.searching)
        assert page.following and text(page)[-1] == "line 399999" and 10_000 <= page.found < 20_000


def test_a_search_with_very_many_matches_goes_to_the_first(log: Path) -> None:
    log.write_text(numbered(0, 30_000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("line", False)
        page = one.until(lambda p: not p.searching and p.found)
        assert text(one.until(lambda p: not p.following))[0] == "line 0" and page.found == 10_000


@pytest.mark.parametrize("only", [True, False], ids=["filter", "search"])
def test_a_search_whose_child_dies_is_no_log_without_a_match(log: Path, only: bool) -> None:
    log.write_text("a" * 10_000 + "\n")
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("(a+)+$(?<=b)", only)
        one.until(lambda p: p.searching)
        os.kill(one.reader._matched._search._child.pid, signal.SIGKILL)  # type: ignore[union-attr]
        page = one.until(lambda p: not p.searching)
        assert page.said == FAILED and page.filtered == only
        one.reader.cancel()
        one.reader.search("a", only)
        assert one.until(lambda p: p.found).said != FAILED


def test_a_filter_that_nothing_matches_says_so(log: Path) -> None:
    log.write_text(numbered(0, 5000))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("nowhere", True)
        assert not one.until(lambda p: p.filtered and not p.searching).lines


def test_a_search_without_a_match_says_so(log: Path) -> None:
    log.write_text(numbered(0, 3))
    with reader_of(log) as one:
        one.reader.search("nowhere", only=False)
        assert one.until(lambda p: p.said).said == "no line matches"


def test_the_last_lines_that_match_are_the_last_of_very_many(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "run")
    (folder / "output.log").write_text(numbered(0, 30_000))
    found = console.run("logs", "run", "--grep", "line", "-n", "2")
    assert found.stdout.splitlines() == ["line 29998", "line 29999"]
    assert console.run("logs", "run", "--grep", "line", "-n", "0").stdout == ""


def torn_run(console: Console) -> Path:
    """A run whose last words were cut off, after more matches than one search keeps."""
    log = write_run(console.workspace / "runs" / "run", rows=4) / "output.log"
    log.write_text(numbered(0, 600_000) + "fatal: killed in the middle of")
    return log


def test_logs_show_the_last_lines_that_match_of_a_huge_log(console: Console) -> None:
    torn_run(console)
    found = console.run("logs", "run", "--grep", "line", "-n", "2").stdout.splitlines()
    assert found == ["line 599998", "line 599999"]
    for words in (["--errors"], ["--grep", "fatal", "--follow"]):
        assert console.run("logs", "run", *words).stdout == "fatal: killed in the middle of\n"


def test_a_last_line_without_end_is_found(console: Console) -> None:
    log = torn_run(console)
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        one.reader.search("fatal|599999", False)
        one.until(lambda p: p.found == 2 and not p.searching)
        one.reader.next_match(1)
        assert text(one.until(lambda p: len(p.lines) == 2))[0] == "line 599999"
        one.reader.next_match(1)
        assert text(one.until(lambda p: len(p.lines) == 1)) == ["fatal: killed in the middle of"]
        one.reader.search("fatal", True)
        one.until(lambda p: p.filtered and p.found == 1)
        with open(log, "a") as file:
            file.write(" it\n")
        assert one.until(lambda p: text(p) == ["fatal: killed in the middle of it"]).found == 1
