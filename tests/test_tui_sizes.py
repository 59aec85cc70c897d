"""Windows of every size, and resized: every dialog, and whole columns only."""

from piloting import SIZES, app_over, ready, type_keys, until
from synthetic import Console, write_run


async def test_every_dialog_at_every_size(console: Console) -> None:
    write_run(console.workspace / "runs" / "run")
    app = app_over(console)
    async with app.run_test(size=SIZES[0]) as pilot:
        await ready(app, pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            dialogs = ("i", "o", "c", "w", "p", "question_mark", "colon")
            for key in dialogs:
                await type_keys(app, key, "down", "pagedown", "up", "escape")
            await type_keys(
                app, "slash", "x", "escape", "down", "enter", "d", "escape", "i", "escape"
            )
            await type_keys(app, "question_mark", "escape", "colon", "escape", "w", "escape", "1")


async def test_a_window_resized_with_a_dialog_open(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=SIZES[0]) as pilot:
        await ready(app, pilot)
        for key in ("question_mark", "colon", "c"):
            await type_keys(app, key)
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await type_keys(app, "down")
            await type_keys(app, "escape")


async def test_only_whole_columns_are_shown(console: Console) -> None:
    app = app_over(console)
    async with app.run_test(size=(83, 24)) as pilot:
        await ready(app, pilot)
        table = app.pane.table  # type: ignore[attr-defined]
        for width in range(40, 130, 7):
            await pilot.resize_terminal(width, 20)
            await until(pilot, lambda now=width: table.size.width == now)
            cells = 1 + sum(column.width + 1 for _, column in table.view.shown())
            assert cells <= width + 1
