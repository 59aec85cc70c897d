"""The reader of a log follows what is written, and says when it is another log or none."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from log_reader import Reading, numbered, reader_of, text


@pytest.fixture
def reading(log: Path) -> Iterator[Reading]:
    with reader_of(log) as one:
        yield one


def test_scrolling_up_stops_following_and_the_end_follows_again(log: Path) -> None:
    log.write_text(numbered(0, 100))
    with reader_of(log) as one:
        assert one.until(lambda p: p.lines).first == 91
        one.reader.move(-5)
        page = one.until(lambda p: not p.following)
        assert text(page)[0] == "line 85" and page.first == 86
        with open(log, "a") as file:
            file.write(numbered(100, 120))
        assert text(one.until(lambda p: p.known == 120))[0] == "line 85"
        one.reader.move(1000)
        assert text(one.until(lambda p: p.following))[-1] == "line 119"


def test_nothing_written_yet_then_lines_then_gone(log: Path, reading: Reading) -> None:
    reading.until(lambda p: p.said == "nothing written yet")
    log.write_text("first\n")
    assert text(reading.until(lambda p: p.lines)) == ["first"]
    log.unlink()
    reading.until(lambda p: p.said == "the file is gone")


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_log_that_is_another_one_is_said(how: str, log: Path, reading: Reading) -> None:
    log.write_text(numbered(0, 50))
    reading.until(lambda p: p.lines)
    if how == "replaced":
        (log.parent / "new").write_text("other\n")
        (log.parent / "new").replace(log)
    else:
        log.write_text("other\n")
    assert text(reading.until(lambda p: how in p.said)) == ["other"]


def test_ten_thousand_lines_a_second_are_followed_without_missing_one(log: Path) -> None:
    log.write_text("")
    with reader_of(log) as one:
        began, posts = time.monotonic(), len(one.pages)
        with open(log, "a", buffering=1 << 12) as file:
            for tick in range(20):
                file.write(numbered(500 * tick, 500 * tick + 500))
                file.flush()
                time.sleep(max(0.0, began + 0.05 * (tick + 1) - time.monotonic()))
        page = one.until(lambda p: p.following and text(p)[-1:] == ["line 9999"])
        assert page.known == 10_000 and text(page) == [f"line {n}" for n in range(9_990, 10_000)]
        assert (len(one.pages) - posts) / (time.monotonic() - began) <= 10


def test_the_same_log_asked_for_again_is_told_again(log: Path) -> None:
    log.write_text(numbered(0, 3))
    with reader_of(log) as one:
        one.until(lambda p: p.lines)
        told = len(one.pages)
        one.reader.open(log)
        one.until(lambda p: len(one.pages) > told and p.lines)


def test_a_log_that_cannot_be_looked_at_ends_no_reader(log: Path) -> None:
    log.write_text("there\n")
    with reader_of(log.with_name("x" * 300)) as one:
        assert "cannot be read" in one.until(lambda p: p.said).said
        one.reader.open(log)
        assert text(one.until(lambda p: p.lines)) == ["there"]
