"""What one takes out of the Tails pane: what its numbers are, a copy, a file."""

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..tails_text import csv_text, json_text
from ..tails_view import EXPLANATIONS, Tails, remarks, table_lines
from .dialogs import Ask, Reader, labelled
from .plots_pane import PlotsPane


class TailsTaking(PlotsPane):
    """Explains, copies and writes what a TailsPane shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "explain", "explain", tooltip="What each number is, and what is amiss"),
        Binding("y", "copy", "copy", tooltip="Copy the table"),
        Binding("w", "write", "write", tooltip="Write the figures to a CSV or JSON file"),
    ]

    @property
    def tails(self) -> Tails | None:
        """The tails on screen; None while there are none of what is chosen."""
        raise NotImplementedError

    async def action_explain(self) -> None:
        tails = self.tails
        found = [*remarks(tails, tails.families), *tails.bad_lines()] if tails else []
        pairs = [*EXPLANATIONS, *(("here", line) for line in found)]
        await self.app.push_screen(Reader("tails of raw scores", labelled(pairs)))

    def action_copy(self) -> None:
        if self.tails:
            lines = table_lines(self.tails, self.tails.families, None)
            self.app.copy_to_clipboard("\n".join(lines))
            self.shell.say("copied the table")

    async def action_write(self) -> None:
        hint = ".csv: the figures; .json: counts and edges too"
        await self.app.push_screen(Ask("write the tails to", "tails.csv", hint), self._write)

    def _write(self, name: str | None) -> None:
        if name is not None and self.tails:
            as_json = name.lower().endswith(".json")
            self.shell.write(Path(name), (json_text if as_json else csv_text)(self.tails))
