"""Choosers name their keys, cut with an ellipsis, and take a typed alert rule wherever one is."""

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


@pytest.mark.parametrize("before", [[], ["down"], ["down", "down"]])
async def test_a_rule_typed_over_the_list_of_rules_is_added(
    console: Console, before: list[str]
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        alerts = app.state.watch.alerts
        for rule in ("train.kl>8", "kl>3 dune.kl>5"):
            alerts.add(rule)
        await type_keys(app, "6", "a", *before, *"dune.kl>5")
        await until(pilot, lambda: "add the rule dune.kl>5 " in screen_text(app))
        await type_keys(app, "enter")
        await until(pilot, lambda: alerts.rules == ["train.kl>8", "kl>3 dune.kl>5", "dune.kl>5"])


async def test_a_rule_typed_over_the_list_is_edited_if_it_is_there_or_wrong(
    console: Console,
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.state.watch.alerts.add("train.kl>8")
        await type_keys(app, "6", "a", *"train.kl>8", "enter")
        await until(pilot, lambda: "`remove` removes it" in screen_text(app))
        await type_keys(app, "escape", "a", *"dune.kl>", "enter")
        await until(pilot, lambda: "alert when" in screen_text(app))
        assert "dune.kl>" in screen_text(app)
        assert app.state.watch.alerts.rules == ["train.kl>8"]
