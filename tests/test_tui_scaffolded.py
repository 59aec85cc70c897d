"""The Grade pane after a submission folder was made from a run."""

import pytest
from piloting import app_over, ready, screen_text, type_keys, until
from synthetic import Console

from sessions.grades import Shelf
from tui.messages import ShelfChanged
from tui.performing import Outcome
from tui.screens.grade import GradePane

EMPTY = ["certification.release", *(f"experiments.{n}" for n in range(14))]


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
async def test_a_new_submission_says_how_much_is_empty_and_what_first(
    console: Console, size: tuple[int, int]
) -> None:
    folder = str(console.workspace / "submissions" / "new")
    app = app_over(console)
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        pane = app.pane
        assert isinstance(pane, GradePane)
        pane.hidden()
        pane.on_shelf_changed(ShelfChanged(Shelf()))
        pane._made(Outcome(("scaffold",), 0, {"folder": folder, "empty": EMPTY}))
        pane.on_shelf_changed(ShelfChanged(Shelf((folder,))))
        said = "made with 15 fields still empty, the first: certification.release"
        await until(pilot, lambda: said in screen_text(app))
        await until(pilot, lambda: "scaffold --check" in screen_text(app))


async def test_what_was_said_stays_though_the_workspace_changes(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, "5")
        pane = app.pane
        assert isinstance(pane, GradePane)
        app.say("said")
        pane.on_shelf_changed(ShelfChanged(Shelf()))
        assert "said" in app._notice
