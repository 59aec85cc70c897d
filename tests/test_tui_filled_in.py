"""Lines that are filled in already: typing replaces that, an arrow or end keeps it."""

import pytest
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console
from textual.screen import Screen
from textual.widgets import Input

from tui.app import ConsoleApp
from tui.screens.dialogs import Ask
from tui.screens.launch import LaunchScreen
from tui.screens.probe import ProbeScreen


def asked(app: ConsoleApp) -> Screen[str | None]:
    return Ask("find", "old", "")


def probe(app: ConsoleApp) -> Screen[None]:
    return ProbeScreen(app.pane.shell, "old", "old")


@pytest.mark.parametrize("screen", [asked, probe])
@pytest.mark.parametrize(
    ("keys", "value"),
    [("x", "x"), (("end", "x"), "oldx"), (("right", "x"), "oldx"), (("left", "x"), "xold")],
)
async def test_what_is_filled_in_is_selected(
    console: Console, screen: type, keys: tuple[str, ...], value: str
) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await app.push_screen(screen(app))
        await until(pilot, lambda: isinstance(app.focused, Input))
        await type_keys(app, *keys)
        assert isinstance(app.focused, Input) and app.focused.value == value


async def test_a_form_filled_in_from_a_run_is_typed_over(console: Console) -> None:
    app = app_over(console, read_only=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.pane.table.go_to("kl002-s1500")  # type: ignore[attr-defined]
        await type_keys(app, "n")
        await until(pilot, lambda: "filled in from" in screen_text(app))
        assert isinstance(app.screen, LaunchScreen)
        steps = app.screen.query_one("#launch-steps", Input)
        assert steps.value == "1500"
        await type_keys(app, "down", "7")
        await until(pilot, lambda: steps.value == "7")


async def test_a_filter_that_is_opened_again_is_typed_on(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "slash", *"kl0", "enter", "slash", "5")
        await until(pilot, lambda: app.state.filter == "kl05")
