"""Logs of any size: pages, lines made safe, following through rotation and truncation."""

import os
import re
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.log_follow import Follower
from sessions.log_pages import (
    BLOCK,
    PAGE_BYTES,
    LineIndex,
    last_page,
    lines_of,
    torn_line,
    whole_end,
)
from sessions.log_text import CUT, LONGEST, LONGEST_BYTES, line_text

LINES = {
    "plain": (b"step 20", "step 20"),
    "carriage return": (b"10%\r50%\r100%", "100%"),
    "CRLF": (b"text\r", "text"),
    "progress then CRLF": (b"10%\r100%\r", "100%"),
    "invalid UTF-8": (b"a\xff\xfeb", "a\ufffd\ufffdb"),
    "colour": (b"\x1b[1;31mred\x1b[0m", "red"),
    "title": (b"\x1b]0;owned\x07text", "text"),
    "title without end": (b"text\x1b]0;owned", "text"),
    "cursor up and erase": (b"\x1b[2A\x1b[Ktext", "text"),
    "C1 control": ("\x9b31mtext".encode(), "text"),
    "bell, null, backspace": (b"a\x07\x00\x08b", "ab"),
    "right to left override": ("abc\u202edef".encode(), "abcdef"),
    "tab": (b"a\tb", "a    b"),
    "CJK": ("実験".encode(), "実験"),
    "markup": (b"loss[/]", "loss[/]"),
    "empty": (b"", ""),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_is_safe_to_show(case: str) -> None:
    raw, text = LINES[case]
    assert line_text(raw) == text


def test_a_line_of_any_length_is_cut() -> None:
    assert len(line_text(b"x" * 1_000_000)) == LONGEST + 1


@given(st.binary(max_size=200))
def test_no_line_holds_a_control_character(raw: bytes) -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line_text(raw))


@pytest.mark.parametrize("count", [0, 1, 7, 500, 100_000])
@pytest.mark.parametrize("size", [0, 1, 40, 20_000])
def test_the_last_page_is_the_end_of_the_file(count: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    texts = [f"line {number}" for number in range(size)]
    path.write_text("".join(text + "\n" for text in texts) + "torn")
    page = last_page(path, count)
    assert [line.text for line in page] == (texts[-count:] if count else [])
    data = path.read_bytes()
    for line in page[:3]:
        assert data[line.offset :].startswith(line.text.encode() + b"\n")


def test_the_index_finds_every_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    texts = ["x" * (number * 7 % 400) for number in range(3000)]
    path.write_text("".join(text + "\n" for text in texts))
    index = LineIndex(path)
    while index.grow(BLOCK):
        pass
    data = path.read_bytes()
    assert index.covered == len(data) // BLOCK * BLOCK > 0
    known = index.lines
    assert known == 3000
    offset = 0
    for number in range(known):
        assert index.offset_of(number) == offset
        assert index.number_of(offset) == number
        offset += len(texts[number]) + 1
    assert [line.text for line in index.page(100, 50)] == texts[100:150]
    assert [line.text for line in index.page(2990, 50)] == texts[2990:]
    assert index.offset_of(known + 1) is None and index.page(known + 1, 5) == []
    path.write_bytes(data * 2)
    while index.grow():
        pass
    assert index.lines > known, "the index grows behind a file that grows"
    index.close()


def test_pages_of_enormous_lines_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "log"
    bar = b"\r".join(b"%d%%" % (n % 100) for n in range(2_000_000)) + b"\rdone"
    path.write_bytes(b"first\n" + b"y" * 9_000_000 + b"\n" + bar + b"\nlast\n" + b"z" * BLOCK)
    index = LineIndex(path)
    while index.grow():
        pass
    texts = [line.text for line in index.page(0, 4)]
    assert (texts[0], texts[2], texts[3]) == ("first", "done", "last")
    assert texts[1].startswith("yyy") and len(texts[1]) == LONGEST + 1
    index.close()


@pytest.mark.parametrize("before", [b"", b"first\n"])
@pytest.mark.parametrize("size", [1, LONGEST_BYTES + 1, 3 * PAGE_BYTES])
def test_a_torn_line_of_any_length_begins_where_it_begins(
    size: int, before: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(before + b"x" * size)
    torn = torn_line(path)
    assert torn is not None and whole_end(path) == torn.offset == len(before)
    assert torn.text == ("x" * LONGEST + CUT if size > LONGEST else "x")
    with open(path, "ab") as file:
        file.write(b"\rdone")
    torn = torn_line(path)
    assert torn is not None and (torn.offset, torn.text) == (len(before), "done")
    with open(path, "ab") as file:
        file.write(b"\n")
    assert torn_line(path) is None and whole_end(path) == path.stat().st_size


def test_a_huge_torn_line_is_never_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n")
    os.truncate(path, 1 << 30)
    tracemalloc.start()
    torn = torn_line(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * PAGE_BYTES
    tracemalloc.stop()
    assert torn is not None and torn.offset == 6


def poll(follower: Follower) -> list[str]:
    return [line.text for line in follower.poll().lines]


def test_following_holds_back_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    follower = Follower(path)
    assert poll(follower) == [], "a file that is not there yet"
    path.write_bytes(b"one\ntw")
    update = follower.poll()
    assert [line.text for line in update.lines] == ["one"] and update.pending == "tw"
    with open(path, "ab") as file:
        file.write(b"o\nthree\n10%\r20%")
    update = follower.poll()
    assert [line.text for line in update.lines] == ["two", "three"] and update.pending == "20%"
    assert poll(follower) == []
    follower.close()


def test_following_notices_truncation(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    follower = Follower(path)
    assert poll(follower) == ["one", "two"]
    path.write_bytes(b"new\n")
    update = follower.poll()
    assert update.restarted == "truncated" and [x.text for x in update.lines] == ["new"]
    path.write_bytes(b"another\nlonger\nfile\n")
    update = follower.poll()
    assert update.restarted == "rewritten", "it grew past the offset between two polls"
    assert [line.text for line in update.lines] == ["another", "longer", "file"]
    follower.close()


def test_following_notices_rotation_and_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    follower = Follower(path)
    assert poll(follower) == ["one"]
    with open(path, "ab") as file:
        file.write(b"two\n")
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"three\n")
    assert poll(follower) == ["two"]
    update = follower.poll()
    assert update.restarted == "rotated" and [x.text for x in update.lines] == ["three"]
    path.unlink()
    assert poll(follower) == []
    follower.close()


@given(
    st.lists(st.binary(max_size=30).filter(lambda b: b"\n" not in b), max_size=20),
    st.integers(1, 60),
)
def test_following_in_pieces_gives_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, raws: list[bytes], piece: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "log"
    data = b"".join(raw + b"\n" for raw in raws)
    path.touch()
    follower, seen = Follower(path), []
    for start in range(0, len(data), piece):
        with open(path, "ab") as file:
            file.write(data[start : start + piece])
        seen += follower.poll().lines
    assert seen == list(lines_of(data, 0))
    follower.close()


def test_a_reader_sustains_many_lines(tmp_path: Path) -> None:
    """The short form of the bench: a second's worth of 10,000 lines in well under a second."""
    path = tmp_path / "log"
    row = b"step 123456/200000  proxy 1.234  kl 5.678 nats  entropy 2.345  99.9 s\n"
    path.write_bytes(row * 10_000)
    follower, began, count = Follower(path), time.process_time(), 0
    while update := follower.poll():
        count += len(update.lines)
        if not update.more:
            break
    assert count == 10_000 and time.process_time() - began < 0.5
    follower.close()
    assert os.path.getsize(path) == follower.offset
