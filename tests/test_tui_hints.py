"""What keys do is never cut off: at 80 columns the form's notes and every pane's hint are whole."""

from functools import partial
from typing import cast

import pytest
from piloting import type_keys, until
from rich.text import Text
from synthetic import Console
from test_tui_hostile import app_over, ready, screen_text
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.bars import status_line
from tui.launch_form import MEANINGS
from tui.performing import Outcome
from tui.screens.decide import DecideScreen
from tui.screens.dialogs import Checklist, Confirm, Picker, Reader
from tui.screens.jobs import EMPTY
from tui.screens.launch import HINT
from tui.screens.pane import Shell
from tui.widgets.choices import Choice

NOTE = 39  # cells of a note in the form at 80 columns


def test_the_launch_form_s_keys_fit_80_columns() -> None:
    assert len(HINT) <= 78 and "esc leave" in HINT and len(EMPTY) < 79


@pytest.mark.parametrize("option", MEANINGS)
def test_a_field_s_note_is_whole_or_begins_with_how_it_is_written(option: str) -> None:
    note = MEANINGS[option]
    assert len(note) <= NOTE or "  " in note[:NOTE]


@pytest.mark.parametrize("said", ["", "short", "x" * 300])
@pytest.mark.parametrize("status", ["1/6", "following  " * 20, "日本" * 60])
@pytest.mark.parametrize("room", [80, 40, 20])
def test_help_is_always_there(said: str, status: str, room: int) -> None:
    line = status_line(said, status, room)
    assert "? keys" in line.plain and line.cell_len <= room


def test_what_is_said_leaves_the_status_where_both_have_room() -> None:
    assert "1/6" in status_line("measuring reference (1/7)", "1/6", 80).plain


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5)])
async def test_a_dialog_says_what_its_keys_do_however_much_it_has_to_tell(
    console: Console, size: tuple[int, int]
) -> None:
    app = app_over(console)
    lines = [f"run {n}: what would be lost, in more words than one line has" for n in range(40)]
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        app.push_screen(Confirm("throw away?", lines))
        await until(pilot, lambda: "y does it" in screen_text(app))
        await pilot.press("escape")
        app.push_screen(Reader("keys", Text("\n".join(lines))))
        await until(pilot, lambda: "esc closes" in screen_text(app))
        await pilot.press("escape")
        decide = DecideScreen("kl002-s1500", "kl002-s1500", cast(Shell, app))
        app.push_screen(decide)
        await until(pilot, lambda: "s ship" in screen_text(app))
        line = decide.query_one(Input)
        line.display = True
        line.value = "because"
        decide.query_one("#evidence").update("\n".join(lines))  # type: ignore[attr-defined]
        await until(pilot, lambda: "because" in screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (80, 17), (80, 14), (80, 12), (80, 9)])
async def test_a_dialog_with_more_than_has_room_ends_under_what_its_keys_do(
    console: Console, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, much = app_over(console), "\n".join(f"line {n}" for n in range(80))
    monkeypatch.setattr(app, "perform", lambda words, done: None)  # no evidence comes
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        for dialog in (
            Confirm("throw away?", much.splitlines()),
            Reader("keys", Text(much)),
            DecideScreen("kl002-s1500", "kl002-s1500", cast(Shell, app)),
        ):
            await app.push_screen(dialog)
            dialog.query_one("VerticalScroll Static", Static).update(much)
            await until(pilot, lambda: "line 2" in screen_text(app))
            box, hint = dialog.query_one(".box"), dialog.query_one(".box-hint")
            middle = dialog.query_one("VerticalScroll")
            await until(pilot, partial(_ends_under, box, hint, middle))
            await pilot.press("escape")


def _ends_under(box: Widget, hint: Widget, middle: Widget) -> bool:
    there = hint.region.height > 0 and hint.region.bottom == box.content_region.bottom
    return there and middle.region.bottom == hint.region.y


@pytest.mark.parametrize("lines", [24, 17, 14, 12, 9])
async def test_what_is_chosen_from_ends_over_what_the_keys_do(console: Console, lines: int) -> None:
    app, many = app_over(console), [Choice(f"{n}", f"choice {n}") for n in range(80)]
    async with app.run_test(size=(80, lines)) as pilot:
        await ready(app, pilot)
        for dialog in (Picker("sort by", many), Checklist("columns", many, ())):
            await app.push_screen(dialog)
            await until(pilot, lambda: "choice 2" in screen_text(app))
            await type_keys(app, *["pagedown"] * 8)
            await until(pilot, lambda: "choice 79" in screen_text(app))
            assert " esc leaves" in screen_text(app)
            await pilot.press("escape")


@pytest.mark.parametrize("lines", [24, 17, 14, 12])
async def test_why_a_decision_is_not_on_record_is_told_whole(
    console: Console, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, lost = app_over(console, read_only=False), f"cannot write {'/long' * 30}: No space left"
    evidence = {"figures": {}, "sha256": {}, "missing": [], "digest": "0"}
    found = {"evidence": evidence, "decisions": [], "verdict_stale": None}
    read = Outcome(("decide",), 0, found)
    refused = Outcome(("decide",), 4, message=lost, fix="free some space")
    monkeypatch.setattr(
        app, "perform", lambda words, done: done(read if len(words) == 2 else refused)
    )
    async with app.run_test(size=(80, lines)) as pilot:
        await ready(app, pilot)
        await app.push_screen(DecideScreen("kl002-s1500", "kl002-s1500", cast(Shell, app)))
        await until(pilot, lambda: "s ship" in screen_text(app))
        await type_keys(app, "h", *"odd", "enter")
        await until(pilot, lambda: "(free some space)" in screen_text(app))
        assert "not on record" in screen_text(app) and " odd " in screen_text(app)
