"""Keys that have no use where they are pressed say where they have one."""

import pytest
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console

from sessions.task import REFERENCE
from tui.run_rules import if_trashed
from tui.watching import Watch


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("A", "A is a key of Grade (5) and Jobs (6)"),
        ("=", "= is a key of Run (2) and Grade (5)"),
    ],
)
async def test_a_key_of_other_panes_says_which(console: Console, key: str, said: str) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("c", key, "escape")
        assert "is a key of" not in screen_text(app), "what is pressed in a dialog is not for panes"
        await pilot.press(key)
        await until(pilot, lambda: said in screen_text(app))


async def test_the_reference_is_not_cloned_but_n_is_named(console: Console) -> None:
    app = app_over(console, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.pane.table.go_to(REFERENCE)  # type: ignore[attr-defined]
        await type_keys(app, "N")
        said = "the reference has no settings to clone: n starts a new run"
        await until(pilot, lambda: said in screen_text(app))


@pytest.mark.parametrize("typed", ["", " "])
async def test_a_note_of_nothing_is_told(console: Console, typed: str) -> None:
    app = app_over(console, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "t", *typed, "enter")
        await until(pilot, lambda: "nothing was noted" in screen_text(app))


def test_notes_are_read_in_jobs_and_a_run_is_not_said_to_have_checkpoints() -> None:
    watch = Watch()
    watch.note(["a", "b", "c"])
    assert watch.tell() == "c  and 2 more notes (6, then N)"
    told = if_trashed({"state": "failed", "step": 3})
    assert told == "failed: 3 steps go, with any checkpoint; notes and decisions stay"
