"""The Grade pane and the decide dialog: grades read, compared, begun; hostile ones withstood."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from grade_documents import grade_document, keep
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console, open_terminal

from grader import report
from sessions.grades import Grading, Shelf, Watch, kept, read_grade, remember, submissions
from sessions.paths import Workspace
from tui.grade_compare import compared_lines
from tui.grade_desk import Desk
from tui.grade_detail import detail_lines, loss_rows, value_text
from tui.grading import SUBMISSION, items, line, stage, stages, state_of, titles
from tui.messages import ShelfChanged
from tui.performing import Outcome
from tui.screens import grade_folder
from tui.screens.grade import GradePane

EVIL = "\x1b]0;owned\x07\x1b[2J[/bold]\u202e" + "w" * 9000


def plain(document: dict[str, Any], room: int = 80) -> str:
    """The detail's lines as text."""
    return "\n".join(one.plain for one in detail_lines(document, "", "is unchanged", room))


def test_the_parts_of_a_grade_are_abbreviated_as_such() -> None:
    assert "reward pro. dec. dia. rep. isolation" in titles(80)


def test_why_points_were_lost_the_most_expensive_first() -> None:
    rows = loss_rows(grade_document())
    assert [part for _, _, part, _ in rows] == ["D2", "D1", "D3c"]
    assert rows[0][0] == pytest.approx(0.25 * 0.3 / 0.5 * 0.5, rel=1e-12)
    text = plain(grade_document())
    assert text.index("decision D2") < text.index("decision D1")
    assert "gain, dune: -0.2, expected 0" in text
    assert text.index("nothing lost") < text.index("decision D3c")


@pytest.mark.parametrize(
    "value", [0.4422791, 0.6, 12, True, None, [], [0.25, "a"], {"improved": [], "q": 0.4422791}]
)
def test_a_value_is_worded_as_the_grader_words_it(value: Any) -> None:
    assert value_text(value) == report._shown(value)


def test_what_a_part_asks_is_said_beside_its_code() -> None:
    document = grade_document()
    assert "-0.075  decision D2  score 0.500" in plain(document)  # one that was kept before
    document["components"]["decision"]["parts"]["D2"]["asks"] = "runs recommended as truth says"
    assert "decision D2 runs recommended as truth says  score 0.500" in plain(document)


async def test_the_abbreviations_are_explained_under_the_keys(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 50)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5", "question_mark")
        await until(pilot, lambda: "pro. dec. dia. rep. are the scores of" in screen_text(app))


def test_a_weak_isolation_says_what_to_do() -> None:
    weak = {"level": "limits-only", "abi": 0, "canary": {"truth": False}}
    text = plain(grade_document(isolation=weak))
    assert "limits-only" in text
    assert "got out: truth" in text
    assert "bubblewrap" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"components": []},
        {"components": {EVIL: EVIL, "decision": {"score": "x", "parts": {EVIL: 7}}}},
        {"rms": EVIL, "isolation": [1], "hashes": 3, "notes": {}, "problems": [EVIL]},
        {"reward": 1e308, "submission": EVIL, "notes": [EVIL] * 50, "problems": {EVIL: EVIL}},
        {"reward": None, "skipped": [EVIL], "rms": [None, {"name": EVIL, "output": EVIL}]},
        {"isolation": {"level": EVIL, "abi": {}, "canary": {EVIL: 0}}, "output": {"rm_h1": 5}},
    ],
    ids=["list", "texts", "types", "numbers", "nulls", "isolation"],
)
def test_hostile_texts_in_every_field_of_a_grade(changes: dict[str, Any]) -> None:
    document = grade_document(why=EVIL, **changes)
    drawn = detail_lines(document, "x", "is gone", 60) + compared_lines((document, {}), 60)
    assert not any(ord(c) < 32 for one in drawn for c in one.plain)
    assert state_of(document) in ("graded", "partial", "invalid")


def test_a_torn_grade_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    keep(tmp_path, "whole", grade_document())
    keep(tmp_path, "torn", '{"reward": 0.')
    (tmp_path / "grades" / "begun").mkdir()
    assert {one.id for one in kept(workspace)} == {"whole", "torn", "begun"}
    assert state_of(read_grade(workspace, "torn")) == "torn"
    assert state_of(read_grade(workspace, "begun")) == "torn"
    assert "cannot be read" in plain(read_grade(workspace, "torn"))
    assert read_grade(workspace, "whole")["reward"] == 0.5


def test_differences_of_two_grades_are_marked() -> None:
    left, right = grade_document(0.50001), grade_document(0.50002, "none is lower")
    lines = [one.plain for one in compared_lines((left, right), 100)]
    assert any(one.startswith("≠ reward") for one in lines)
    assert any(one.startswith("≠   D1") for one in lines)
    assert any(one.startswith("    D2") for one in lines)
    assert any(one.startswith("  isolation") for one in lines)


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a grade was read")


def test_ten_thousand_grades_are_listed_without_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10_000):
        folder = tmp_path / "grades" / f"g-{number:05}"
        folder.mkdir(parents=True)
        (folder / "grade.json").write_text("{}")
    watch = Watch(Workspace(tmp_path))
    monkeypatch.setattr(Path, "read_text", _never)
    monkeypatch.setattr(Path, "read_bytes", _never)
    monkeypatch.setattr("builtins.open", _never)
    assert len(watch.look().kept) == 10_000
    listed = items(watch.look())
    assert len(line(listed[5000], None, 80)) == 80


def test_stages_of_a_grading_name_the_reward_model_at_hand() -> None:
    said = (
        "reading sub",
        "diagnostic 1/2: begins on rm_h2, at most 720 s",
        "diagnostic 1/2: ok, 0.2 CPU-seconds",
        "diagnostic 2/2: begins on rm_h1, at most 720 s",
    )
    shown = list(stages(said))
    assert shown[1] == ("✓", "diagnostic 1/2 on rm_h2: ok, 0.2 CPU-seconds")
    assert shown[2] == ("▶", "diagnostic 2/2 on rm_h1, at most 720 s")
    assert stage(("--- attempt 1, 2026-01-02T03:04:05Z",)) == stage(()) == "starting"


def test_folders_elsewhere_are_remembered_once(tmp_path: Path) -> None:
    workspace, place = Workspace(tmp_path / "w"), tmp_path / "sub"
    place.mkdir()
    for _ in range(2):
        remember(workspace, place)
    (workspace.submissions / "own").mkdir(parents=True)
    assert list(submissions(workspace)) == [str(workspace.submissions / "own"), str(place)]


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
def test_an_operator_reads_why_points_were_lost_and_records_a_hold(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    console = Console(tmp_path)
    keep(console.workspace, "sub-1", grade_document())
    keep(console.workspace, "sub-2", grade_document(0.7))
    with open_terminal(console, *size) as terminal:
        terminal.sees("kl002-s1500")
        terminal.press("5")
        terminal.sees("grades (2)", "where points were lost")
        terminal.press("space", "space", "=")
        terminal.sees("≠ reward")
        terminal.press("esc", "1")
        terminal.sees("kl002-s1500")
        terminal.press("down", "down", "down", "d")
        terminal.sees("decide on kl002-s1500", "true quality of anvil")
        terminal.press("h")
        terminal.sees("why hold?")
        terminal.press("dune collapses", "enter")
        terminal.sees("○ hold")
    made = json.loads((console.workspace / "meta" / "kl002-s1500.jsonl").read_text())
    assert (made["decision"], made["reason"]) == ("hold", "dune collapses")


def test_read_only_grades_and_decides_nothing(tmp_path: Path) -> None:
    console = Console(tmp_path)
    (console.workspace / "submissions" / "sub").mkdir(parents=True)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("kl002-s1500")
        terminal.press("5")
        terminal.sees("submissions (1)")
        terminal.press("g")
        terminal.sees("read-only: nothing is graded")
    assert not (console.workspace / "jobs").exists()


async def test_graded_folders_are_hashed_one_at_a_time_and_waited_for(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, reward in (("one", 0.5), ("two", 0.25)):
        keep(console.workspace, name, grade_document(reward))
    app, begun, go_on = app_over(console), [], threading.Semaphore(0)

    def compare(self: Desk, document: dict[str, Any]) -> str:
        begun.append(document["reward"])
        go_on.acquire(timeout=120)
        return f"was compared as number {len(begun)}"

    monkeypatch.setattr(Desk, "compare", compare)
    monkeypatch.setattr(grade_folder, "REST_S", 0.01)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        await until(pilot, lambda: begun)
        for key in ("down", "up", "down", "up", "down"):
            await type_keys(app, key)
            await pilot.pause(0.05)
        assert len(begun) == 1, "another was begun while the first went on"
        go_on.release()
        await until(pilot, lambda: len(set(begun)) == 2)
        ended = threading.Thread(target=app.background.end_now)
        ended.start()
        ended.join(0.2)
        assert ended.is_alive(), "its child was left behind"
        go_on.release()
        await until(pilot, lambda: "was compared as number 2" in screen_text(app))
        ended.join(60)


@pytest.mark.parametrize("stays", [True, False], ids=["stays", "has gone elsewhere"])
async def test_the_cursor_goes_to_a_grading_begun_here_when_it_is_listed(
    console: Console, stays: bool
) -> None:
    folders = tuple(str(console.workspace / "submissions" / name) for name in ("one", "two"))
    app = app_over(console)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        pane = app.pane
        assert isinstance(pane, GradePane)
        pane.hidden()
        pane.on_shelf_changed(ShelfChanged(Shelf(folders)))
        pane.table.go_to(SUBMISSION, folders[1])
        pane._queued(Outcome(("grade", "--job", folders[1]), 0, {"jobs": ["job"]}))
        if not stays:
            pane.table.go_to(SUBMISSION, folders[0])
        begun = Grading("job", "two", folders[1], "queued", None, None, None, ())
        pane.on_shelf_changed(ShelfChanged(Shelf(folders, (begun,))))
        item = pane.table.current
        assert item is not None and item.key == ("job" if stays else folders[0])
