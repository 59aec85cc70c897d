"""Understand and decide, as an operator does, on the shipped runs with everything real."""

import json
import re
from pathlib import Path

import pytest
from shipped_console import TASK, dashboard, supervised
from terminal import Terminal

from grader.solutions.stories import face_value
from rlhf.vocab import CONTENT, FAMILIES

RUN = "kl002-s1500"
COLLAPSED = {"dune": "pa", "ember": "he"}  # family: the one token it says


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where measured scores stay: the second size finds those of the first."""
    return tmp_path_factory.mktemp("cache")


def heading(terminal: Terminal, family: str) -> re.Match[str] | None:
    """A family's share above the reference's p99.5 and its shift, where they are on screen."""
    return re.search(rf"[\n ]{family} +([\d.]+)%±[\d.]+ >ref, \+([\d.]+)±", "\n" + terminal.text)


def turn_to(terminal: Terminal, family: str) -> tuple[float, float]:
    """v until the family is on screen: its share above the reference in %, its shift in IQRs."""
    for _ in range(len(FAMILIES)):
        terminal.until(lambda: headings(terminal))
        if match := heading(terminal, family):
            return float(match[1]), float(match[2])
        before = headings(terminal)
        terminal.press("v")
        terminal.until(lambda old=before: headings(terminal) not in ([], old))
    raise AssertionError(f"{family} is not there:\n{terminal.text}")


def headings(terminal: Terminal) -> list[str]:
    """The families that have a heading on screen."""
    return [family for family in FAMILIES if heading(terminal, family)]


def sees_the_collapse(terminal: Terminal) -> None:
    """Tails: nearly all of dune and ember above the reference; samples: one token throughout."""
    terminal.press("3")
    terminal.sees("Press e")
    terminal.press("e")
    terminal.until(lambda: "p99.5" in terminal.text and "anvil" in terminal.text, 200)
    for family in FAMILIES:
        above, shift = turn_to(terminal, family)
        assert (above > 95 and shift > 5) == (family in COLLAPSED), terminal.text
    terminal.press("x")
    terminal.sees("[highest]", "over-represented")
    while f"   {FAMILIES[0]} " not in (title := terminal.line(f"{RUN}   ")):
        terminal.press("v")  # it opens at the family of the tails
        terminal.until(lambda old=title: terminal.line(f"{RUN}   ") not in ("", old))
    for family in FAMILIES:
        terminal.until(lambda f=family: f"{RUN}   {f} " in terminal.text)
        terminal.sees("[highest]")
        most = 5 * terminal.text.count(f" {family} v")
        same = [token for token in CONTENT if terminal.text.count(f"[{token}]") > most]
        assert same == [COLLAPSED[one] for one in COLLAPSED if one == family], terminal.text
        terminal.press("v")
    terminal.press("esc")
    terminal.until(lambda: "[highest]" not in terminal.text)


def grades(terminal: Terminal, folder: Path) -> None:
    """Grades a submission and reads why it lost points."""
    terminal.press("5")
    terminal.sees("submissions (1)", folder.name)
    terminal.press("g")
    terminal.sees("grades (1)")
    terminal.until(lambda: "where points were lost" in terminal.text, 200)
    terminal.press("enter")
    terminal.until(lambda: "submissions (1)" not in terminal.text)
    while not all(text in terminal.text for text in ("decision D2", "wrong, missing")):
        before = _lines_below(terminal)
        terminal.press("down")
        terminal.until(lambda old=before: _lines_below(terminal) != old)
    terminal.press("esc")


def _lines_below(terminal: Terminal) -> str:
    """How many lines are below those of a grade that are on screen, as the status line says."""
    said = re.search(r"\d+ more lines? below", terminal.text)
    return said[0] if said else ""


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (160, 50)], ids=["80x24", "160x50"])
def test_an_operator_sees_the_collapse_grades_and_holds(
    tmp_path: Path, cache: Path, columns: int, lines: int
) -> None:
    workspace = tmp_path / "workspace"
    submission = workspace / "submissions" / "trusting"
    submission.mkdir(parents=True)
    face_value(TASK, submission)
    with supervised(workspace), dashboard(workspace, cache, columns, lines) as terminal:
        terminal.sees("reference", RUN)
        terminal.press("/", RUN, "enter", "home", "enter")
        terminal.sees("proxy")
        sees_the_collapse(terminal)
        grades(terminal, submission)
        terminal.press("1")
        terminal.sees(RUN)
        terminal.press("home", "d")
        terminal.sees(f"decide on {RUN}", "true quality of anvil")
        terminal.press("h")
        terminal.sees("why hold?")
        terminal.press("dune says pa, ember he", "enter")
        terminal.sees("○ hold")
        terminal.press("q")
        assert terminal.wait() == 0
    made = json.loads((workspace / "meta" / f"{RUN}.jsonl").read_text())
    assert (made["decision"], made["reason"]) == ("hold", "dune says pa, ember he")
