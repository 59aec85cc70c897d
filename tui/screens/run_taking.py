"""What one takes out of the Run pane: what the metric is, differences, a copy, a file."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from ..compare import difference_lines, differences
from ..curves import METRICS
from ..fields import FIELDS
from ..messages import ConfigsRead
from ..pollers import read_configs
from ..readout import curves_csv
from ..render import number_of
from .dialogs import Ask, Reader, labelled
from .root_view import RootView


class RunTaking(RootView):
    """Explains, compares, copies and writes what a RunPane shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "explain", "explain", tooltip="What the chosen metric is"),
        Binding(
            "equals_sign",
            "differences",
            "differences",
            key_display="=",
            tooltip="Settings in which these runs differ",
        ),
        Binding("y", "copy", "copy", tooltip="Copy what is read out"),
        Binding("w", "write", "write", tooltip="Write the curves to a CSV file"),
    ]

    def panels(self) -> list[tuple[str, str]]:
        """(metric, scope) of each plot that is shown."""
        raise NotImplementedError

    def read_out(self, room: int, in_full: bool = False) -> list[str]:
        """What the curves say at the cursor, the numbers in brief or in full."""
        raise NotImplementedError

    async def action_explain(self) -> None:
        key, unit, by_family = METRICS[self.state.metric]
        field = FIELDS[f"train.{key}"]
        pairs = [("what it is", field.meaning), ("unit", unit), ("from", "log.jsonl of each run")]
        pairs.append(("per family", "yes" if by_family else "no: it is logged overall only"))
        await self.app.push_screen(Reader(self.state.metric, labelled(pairs)))

    def action_differences(self) -> None:
        folders = {key: self.state.folders[key] for key in self.state.overlaid()}
        task = self.shell.place.task
        self.shell.work(
            "compare", lambda: self.post_message(ConfigsRead(read_configs(folders, task)))
        )

    def on_configs_read(self, message: ConfigsRead) -> None:
        """In which settings the runs differ."""
        runs = self.state.runs
        compared = {key: runs[key] for key in message.configs if key in runs}
        lines = difference_lines(differences(message.configs), compared)
        body = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        self.app.push_screen(Reader("settings in which these runs differ", body))

    def action_copy(self) -> None:
        shown = self.state.overlaid()
        lines = self._root.table(shown, self.panels()[0][1], 200) if self._root.on else None
        self.app.copy_to_clipboard("\n".join(lines or self.read_out(200, in_full=True)))
        self.shell.say(f"copied the read-out of {number_of(len(shown), 'run')}")

    async def action_write(self) -> None:
        hint = "CSV: run, step and every metric, overall and per family"
        await self.app.push_screen(Ask("write the curves to", "curves.csv", hint), self._write)

    def _write(self, name: str | None) -> None:
        if name is not None and self._root.on:
            self.shell.write(Path(name), self._root.csv())
        elif name is not None:
            text = curves_csv(self.state, self.state.overlaid())
            self.shell.write(Path(name), text)
