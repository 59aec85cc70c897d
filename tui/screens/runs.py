"""Pane 1: the list of runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..bars import runs_status
from ..columns import COLUMNS, DEFAULT_COLUMNS, PINNED, is_metric
from ..explain import explain, heading
from ..export import csv_of, json_of
from ..fields import Run
from ..messages import MeasureAsked, Preferred
from ..render import clean, exact
from ..widgets.choices import Choice
from ..widgets.filter_line import FilterLine
from ..widgets.lines import Lines
from ..widgets.runs_table import RunsTable
from .dialogs import Ask, Checklist, Picker, Reader, labelled
from .run_filter import RunFilter

CAPTION = "proxy: raw RM score   KL: per-sequence k1 estimate, nats   i explains the cell"


class RunsPane(RunFilter):
    """The runs, filtered, sorted, marked; enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", tooltip="Show the run's curves"),
        Binding(
            "slash", "filter", "filter", key_display="/", tooltip="Show what a filter holds for"
        ),
        Binding("space", "mark", "mark", tooltip="Mark the run; marked runs are overlaid"),
        Binding("s", "sort", "sort", tooltip="Sort by the cursor's column; again: as found"),
        Binding("S", "reverse", "reverse", tooltip="Reverse the order"),
        Binding("c", "columns", "columns", tooltip="Choose the columns and their order"),
        Binding("i", "explain", "explain", tooltip="What this number is, or why it is missing"),
        Binding("g", "group", "group seeds", tooltip="Seeds of one recipe as mean, spread, n"),
        Binding("u", "unmark", "unmark all", tooltip="Unmark all runs"),
        Binding(
            "e", "measure", "measure", tooltip="Measure the marked runs, or this one, per family"
        ),
        Binding("o", "pick_sort", "sort by ...", tooltip="Choose the field to sort by"),
        Binding("y", "copy", "copy", tooltip="Copy the value under the cursor"),
        Binding("w", "write", "write", tooltip="Write the rows to a CSV or JSON file"),
        Binding("p", "problems", "problems", tooltip="What could not be read"),
        Binding("escape", "back", "back", tooltip="Close the filter, then clear it"),
    ]

    def compose(self) -> ComposeResult:
        """The table, a caption, and the filter's line while it is typed."""
        yield RunsTable()
        yield Lines(id="caption")
        yield FilterLine(self.keep_filter, "state=running dune.kl>5 or !(name~^kl)")

    def on_mount(self) -> None:
        """Nothing to wait for: the rows come by update."""
        self.query_one("#caption", Lines).show([Text(CAPTION)])
        self.update()

    @property
    def table(self) -> RunsTable:
        """The list itself."""
        return self.query_one(RunsTable)

    def focus_default(self) -> None:
        """Give the keys to the table."""
        self.screen.set_focus(self.table)

    def update(self) -> None:
        """Show the state's rows."""
        state = self.state
        self.table.show(
            state.rows(),
            state.columns_shown(),
            state.marks,
            (state.sort, state.reverse),
            state.grouped,
            self._nothing(),
            state.longest_name,
        )

    def _nothing(self) -> str:
        if not self.state.loaded:
            return self.state.trouble or "looking for runs ..."
        if self.state.filter:
            return f"no run matches {self.state.filter}   (esc clears the filter)"
        return "no runs yet: n launches one"

    def status(self) -> str:
        """Counts, filter, order, and where the view stands."""
        return runs_status(self.state, *self.table.position)

    # -- what keys do ----------------------------------------------------------------------

    async def action_open(self) -> None:
        row = self.table.cursor_row
        if row is None:
            return
        if row.is_group:
            self.state.marks |= {run["id"]: None for run in row.runs}
        await self.shell.open_run(row.runs[0]["id"])

    def action_mark(self) -> None:
        row = self.table.cursor_row
        if row is not None:
            self.state.toggle_marks(run["id"] for run in row.runs)
            self.table.action_move(1)
            self._chosen()

    def action_unmark(self) -> None:
        self.state.toggle_marks(list(self.state.marks))
        self._chosen()

    def action_sort(self) -> None:
        self._sort(self.table.cursor_key)

    def _sort(self, key: str | None) -> None:
        if key is None:
            return
        key = "created" if key == "age" else key
        if key == self.state.sort:
            self.state.sort_by(None, False)
        else:
            self.state.sort_by(key, is_metric(key))
        self._chosen()

    def on_runs_table_head_clicked(self, event: RunsTable.HeadClicked) -> None:
        """A click on a heading sorts."""
        self._sort(event.key)

    def on_runs_table_moved(self, event: RunsTable.Moved) -> None:
        """The status line names the place."""
        self.shell.renew()

    def action_reverse(self) -> None:
        self.state.sort_by(self.state.sort, not self.state.reverse)
        self._chosen()

    async def action_pick_sort(self) -> None:
        fields = [f for f in COLUMNS.values() if f.key != "age"]
        choices = [Choice(field.key, field.key, field.meaning) for field in fields]
        await self.app.push_screen(Picker("sort by", choices), self._sort)

    def action_group(self) -> None:
        self.state.group_seeds(not self.state.grouped)
        self._chosen()

    async def action_columns(self) -> None:
        chosen = self.state.columns
        rest = [key for key in DEFAULT_COLUMNS if key not in chosen]
        rest += [key for key in COLUMNS if key not in chosen and key not in rest]
        keys = [key for key in [*chosen, *rest] if key not in PINNED]
        choices = [Choice(key, key, COLUMNS[key].meaning) for key in keys]
        await self.app.push_screen(Checklist("columns", choices, chosen), self._set_columns)

    def _set_columns(self, keys: list[str] | None) -> None:
        if keys is not None:
            self.state.columns = [*PINNED, *(key for key in keys if key not in PINNED)]
            self._chosen()
            self.post_message(Preferred())

    async def action_explain(self) -> None:
        row, key = self.table.cursor_row, self.table.cursor_key
        if row is not None and key is not None:
            field = COLUMNS[key]
            body = labelled(explain(row, field, self.state.folders))
            await self.app.push_screen(Reader(heading(row, field), body))

    def targets(self) -> list[Run]:
        """The marked runs, else those of the cursor's row."""
        row = self.table.cursor_row
        marked = [self.state.runs[key] for key in self.state.marks]
        return marked or list(row.runs if row else ())

    def action_measure(self) -> None:
        self.post_message(MeasureAsked([run["id"] for run in self.targets()]))

    def action_copy(self) -> None:
        row, key = self.table.cursor_row, self.table.cursor_key
        if row is not None and key is not None:
            value = row.value(COLUMNS[key])
            text = json.dumps(value) if isinstance(value, dict | list) else exact(value)
            self.app.copy_to_clipboard(text)
            self.shell.say(f"copied {text[:60]}")

    async def action_write(self) -> None:
        hint = ".csv: the columns shown; .json: all facts of the rows shown"
        await self.app.push_screen(Ask("write the rows to", "runs.csv", hint), self._write)

    def _write(self, name: str | None) -> None:
        if name is None:
            return
        rows = self.state.rows()
        form: Callable[..., str] = json_of if name.lower().endswith(".json") else csv_of
        self.shell.write(Path(name), form(rows, self.state.columns))

    async def action_problems(self) -> None:
        pairs: list[tuple[str, Any]] = [(p["path"], p["message"]) for p in self.state.problems]
        lines = [(clean(path)[-40:], clean(message)) for path, message in pairs]
        await self.app.push_screen(Reader("problems", labelled(lines or [("", "none")])))
