"""Searching a log in a child: found, followed, cancelled, never in the way."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_lab import eventually

from sessions.errors import UsageError
from sessions.identity import stat
from sessions.log_pages import PAGE_BYTES, pages_back, whole_end
from sessions.log_search import LIMIT, POLL_BYTES, Search
from sessions.log_text import ERRORS, LONGEST_BYTES
from sessions.supervise import python_environment


def collect(search: Search) -> list[str]:
    found: list[str] = []

    def done() -> bool:
        found.extend(match.text for match in search.poll())
        return search.finished

    eventually(done)
    search.cancel()
    return found


def test_search_finds_lines_in_a_child(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"step {n} {'nan' if n % 100 == 0 else 'ok'}\n" for n in range(1000)))
    assert collect(Search(path, ERRORS)) == [f"step {n} nan" for n in range(0, 1000, 100)]
    assert len(collect(Search(path, "nan", invert=True))) == 990
    search = Search(path, r"step (7\d\d) nan")
    match = eventually(search.poll)[0]
    assert (match.number, match.span) == (700, (0, 12))
    assert path.read_bytes()[match.offset :].startswith(b"step 700 nan\n")
    search.cancel()


@pytest.mark.parametrize("pattern", ["-1", "--help", "--invert", "-", "--"])
def test_a_pattern_may_begin_with_a_dash(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "log"
    path.write_text(f"loss {pattern}.5\nfine\n")
    assert collect(Search(path, pattern)) == [f"loss {pattern}.5"]


def test_search_follows(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one nan\n")
    search = Search(path, "nan", follow=True)
    assert [m.text for m in eventually(search.poll)] == ["one nan"]
    with open(path, "a") as file:
        file.write("fine\ntwo nan\n")
    assert [m.text for m in eventually(search.poll)] == ["two nan"]
    assert not search.finished
    search.cancel()


def test_a_pathological_pattern_costs_the_caller_nothing_and_can_be_cancelled(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    path.write_text("a" * 10_000 + "\n")
    search = Search(path, r"(a+)+$(?<=b)")
    began, deadline = time.process_time(), time.monotonic() + 1.0
    while time.monotonic() < deadline:
        assert search.poll() == []
        time.sleep(0.01)
    assert not search.finished, "this pattern is not slow enough to test anything"
    assert time.process_time() - began < 0.5
    search.cancel()
    assert search.finished


def test_a_search_ends_with_whoever_asked_for_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a" * 10_000 + "\n")
    script = f"""
import sys, time
from pathlib import Path
from sessions.log_pages import PAGE_BYTES, pages_back, whole_end
from sessions.log_search import LIMIT, POLL_BYTES, Search
search = Search(Path({str(path)!r}), r"(a+)+$(?<=b)")
print(search._child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        child = int(asker.stdout.readline())
        time.sleep(0.5)
        asker.kill()
    eventually(lambda: (seen := stat(child)) is None or seen.gone)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "(?P<x>a)(?P<x>b)"])
def test_a_bad_pattern_is_named(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        Search(tmp_path / "log", pattern)


def test_one_poll_takes_a_bounded_part_of_what_a_child_finds(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{'y' * 900}\n" * 5000)
    search, polls = Search(path, "y", follow=True), []
    eventually(lambda: polls.append(search.poll()) or sum(map(len, polls)) == 5000)
    search.cancel()
    assert max(map(len, polls)) <= 2 * POLL_BYTES // 900


def test_a_search_from_the_end_finds_the_newest_first_and_every_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {n}\n" for n in range(9_000)) + "torn")
    assert collect(Search(path, "torn", newest=True)) == []
    search, found = Search(path, "[05]$", newest=True), []
    eventually(lambda: found.extend(search.poll()) or search.finished)
    search.cancel()
    numbers = [int(match.text.split()[1]) for match in found]
    assert numbers == list(range(8_995, -1, -5))
    whole = path.read_bytes()
    assert all(whole[m.offset :].startswith(f"{m.text}\n".encode()) for m in found)


def test_a_search_ends_with_the_first_matches_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {n}\n" for n in range(3 * LIMIT)))
    found = collect(Search(path, "line"))
    assert len(found) == LIMIT and (found[0], found[-1]) == ("line 0", f"line {LIMIT - 1}")
    newest = collect(Search(path, "line", newest=True))
    assert len(newest) == LIMIT and newest[0] == f"line {3 * LIMIT - 1}"


def test_a_search_from_the_end_stops_at_the_limit_and_follows(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {n}\n" for n in range(3 * LIMIT)))
    search, found = Search(path, "line", follow=True, newest=True), []
    eventually(lambda: found.extend(search.poll()) or search.whole)
    assert LIMIT <= len(found) < 2 * LIMIT and found[0].text == f"line {3 * LIMIT - 1}"
    with open(path, "a") as file:
        file.write("line new\n")
    eventually(lambda: found.extend(search.poll()) or found[-1].text == "line new")
    search.cancel()


@pytest.mark.parametrize("size", [100, 3 * PAGE_BYTES])
def test_lines_of_any_length_are_passed_backwards(size: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * size + b"end\nlast\n")
    pages = [line for page in pages_back(path, whole_end(path)) for line in reversed(page)]
    assert [line.offset for line in pages] == [size + 10, 6, 0]
    assert [line.text[-4:] for line in pages][::2] == ["last", "irst"]


def test_a_long_torn_line_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nlong " + b"x" * 3 * LONGEST_BYTES)
    for newest in (False, True):
        found = collect(Search(path, "x|long", newest=newest, torn=True))
        assert [text[:6] for text in found] == ["long x"]


def test_a_search_that_ends_while_it_looks_after_its_parent_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a line\n")
    code = (
        "from sessions import log_search as s; from pathlib import Path; s.LOOK_S = 1e-4;"
        f"s.run_search(Path({str(path)!r}), 'line', False, False, False, False, False)"
    )
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code], env=python_environment(), capture_output=True
        )
        assert done.returncode == 0 and b"a line" in done.stdout
