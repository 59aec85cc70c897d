"""Each widget alone in an app of four lines."""

from typing import Any

import pytest
from piloting import until
from rich.text import Text
from textual.app import App, ComposeResult
from textual.widget import Widget

from tui.columns import DEFAULT_COLUMNS
from tui.plotting import Series
from tui.state import Row
from tui.widgets.choices import Choice, Choices
from tui.widgets.lines import Lines
from tui.widgets.plot import Plot
from tui.widgets.runs_table import RunsTable


class Alone(App[None]):
    CSS_PATH = "../tui/app.tcss"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def shown(widget: Widget) -> list[str]:
    """The widget's lines as they are drawn now."""
    return [widget.render_line(y).text for y in range(widget.size.height)]


def row(number: int) -> Row:
    keys = "reason kl_coef mix wrapper seed parent created balanced dev train eval"
    facts: dict[str, Any] = dict.fromkeys(keys.split())
    name = f"run-{number:03d}"
    facts |= {"id": name, "name": name, "state": "finished", "step": 800, "steps": 800}
    return Row(name, ({**facts, "families": {}, "tags": [], "nonfinite": []},))


def fill(
    table: RunsTable,
    rows: list[Row],
    marks: tuple[str, ...] = (),
    sort: tuple[str | None, bool] = (None, False),
) -> None:
    table.show(rows, DEFAULT_COLUMNS, marks, sort, False, "no runs yet", 7)


@pytest.mark.parametrize("size", [(80, 24), (40, 10)], ids=["80x24", "40x10"])
async def test_a_table_draws_the_lines_on_screen_and_no_others(size: tuple[int, int]) -> None:
    table = RunsTable()
    async with Alone(table).run_test(size=size) as pilot:
        fill(table, [row(n) for n in range(5000)], ("run-001",))
        table.focus()
        await pilot.press("end")
        await until(pilot, lambda: "run-4999" in shown(table)[-1])
        assert len(table._cells) < 200
        await pilot.press("home")
        await until(pilot, lambda: shown(table)[3].startswith("◆✓ finished run-001"))


async def test_a_table_says_why_it_is_empty() -> None:
    table = RunsTable()
    async with Alone(table).run_test(size=(80, 24)):
        fill(table, [])
        assert table.cursor_row is None
        assert any("no runs yet" in line for line in shown(table))


async def test_the_sorted_column_is_marked_and_its_title_whole() -> None:
    table = RunsTable()
    async with Alone(table).run_test(size=(80, 24)):
        fill(table, [row(0)], sort=("balanced.proxy", True))
        assert "▼proxy" in shown(table)[1]
        fill(table, [row(0)], sort=("state", False))
        assert shown(table)[1].startswith("▲state")


async def test_a_click_goes_to_the_cell() -> None:
    table = RunsTable()
    async with Alone(table).run_test(size=(80, 24)) as pilot:
        fill(table, [row(n) for n in range(9)])
        await pilot.click(RunsTable, offset=(30, 5))
        await until(pilot, lambda: table.cursor_key == "kl_coef")
        assert table.cursor_row is not None and table.cursor_row.key == "run-003"


async def test_a_plot_names_its_metric_unit_and_what_is_missing() -> None:
    plot = Plot()
    async with Alone(plot).run_test(size=(60, 12)):
        plot.show("KL", "  nats, k1", [Series(0, [1.0, 2.0], [1.0, 2.0])], True, 1.0, "dark")
        assert shown(plot)[0].startswith("KL  log  nats, k1")
        plot.show("KL", "  nats, k1", [Series(0, [1.0], [None])], False, None, "dark")
        assert "no values yet" in shown(plot)[0]


async def test_choices_keep_their_cursor_in_sight() -> None:
    choices = Choices()
    async with Alone(choices).run_test(size=(30, 5)):
        choices.show([Choice(str(n), f"choice {n}") for n in range(40)], {"39"})
        choices.move(99)
        assert choices.current == "39"
        assert shown(choices)[-1].startswith("[x] choice 39")


async def test_lines_are_cut_not_wrapped() -> None:
    lines = Lines()
    async with Alone(lines).run_test(size=(10, 3)):
        lines.show([Text("x" * 50), Text("y")])
        assert shown(lines) == ["x" * 9 + "…", "y" + " " * 9, " " * 10]
