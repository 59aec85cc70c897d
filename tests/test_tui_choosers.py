"""Choosers name their keys, and what of a choice has no room ends in an ellipsis."""

import pytest
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console

from tui.screens.dialogs import Picker
from tui.widgets.choices import Choice


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (40, 10)])
@pytest.mark.parametrize(
    ("keys", "hint"),
    [("o", "enter chooses, esc leaves"), ("6a", "enter adds or edits, esc leaves")],
)
async def test_a_chooser_names_its_keys(
    console: Console, size: tuple[int, int], keys: str, hint: str
) -> None:
    app = app_over(console)
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        await type_keys(app, *keys)
        await until(pilot, lambda: f" {hint} " in screen_text(app))


async def test_a_note_that_is_cut_says_so(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.push_screen(Picker("sort by", [Choice("a", "a", "word " * 40), Choice("b", "b", "b")]))
        await until(pilot, lambda: "word…" in screen_text(app))
        assert "b…" not in screen_text(app)
