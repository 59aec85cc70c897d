"""The dialog in which a run is decided on: evidence, what is missing, ship or hold, a reason."""

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..deciding import evidence_lines
from ..fields import Run
from ..performing import Outcome
from ..render import called, clean
from ..widgets.typing_line import TypingLine
from .pane import Pane, Shell

CHOOSE = "s ship   h hold   up down scroll   esc leaves it undecided"
TYPE = "enter puts it on record for good, esc goes back"


async def decide_run(pane: Pane, run: Run | None) -> None:
    """Open the dialog for a run; what a key of any pane, or the palette, does."""
    if run is None:
        pane.shell.say("no run to decide on")
    else:
        await pane.app.push_screen(DecideScreen(run["id"], called(run), pane.shell))


class DecideScreen(ModalScreen[None]):
    """Shows what a child read of the run; decides on exactly that, or not at all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "choose('ship')", "ship", tooltip="Decide to ship it"),
        Binding("h", "choose('hold')", "hold", tooltip="Decide to hold it"),
        Binding("escape", "back", "back", tooltip="Back, deciding nothing"),
        Binding("enter", "record", "record", show=False, priority=True),
        Binding("down,j", "roll(1)", "Down", show=False),
        Binding("up,k", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "roll(10)", "Page down", show=False),
        Binding("pageup", "roll(-10)", "Page up", show=False),
    ]

    AUTO_FOCUS = ""  # else the hidden line would take the keys

    def __init__(self, key: str, name: str, shell: Shell) -> None:
        super().__init__()
        self._key, self._run_name, self._shell = key, name, shell
        self._found: dict[str, Any] = {}
        self._verdict = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        """Title, evidence, the line for the reason, and what keys do."""
        with Vertical(classes="box decide"):
            yield Static(f"decide on {self._run_name}", classes="box-title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static("reading the evidence ...", id="evidence", markup=False)
            with Vertical(id="decide-foot"):
                yield TypingLine(id="reason", max_length=4000)
                yield Static(CHOOSE, id="decide-hint", classes="box-hint", markup=False)

    def on_mount(self) -> None:
        """Ask for the evidence; the line for the reason comes with a choice."""
        line = self.query_one(Input)
        line.display = False
        self.set_focus(None)
        self._read()

    def _read(self) -> None:
        self._shell.perform(["decide", self._key], self._show)

    def _show(self, outcome: Outcome) -> None:
        if not self.is_attached:
            return
        body = Text(outcome.line())
        if not outcome.failed:
            if not self._found:
                self._hint(CHOOSE)
            self._found = outcome.document
            lines = evidence_lines(
                self._found["evidence"], self._found["decisions"], self._found["verdict_stale"]
            )
            body = Text("\n").join(Text(line) for line in lines)
        self.query_one("#evidence", Static).update(body)

    def _hint(self, text: str) -> None:
        self.query_one("#decide-hint", Static).update(Text(clean(text)))

    def action_choose(self, verdict: str) -> None:
        """Ask for the reason."""
        if self._shell.place.read_only:
            self._hint("--read-only: nothing is decided")
        elif not self._found:
            self._hint("wait for the evidence")
        else:
            self._verdict = verdict
            line = self.query_one(Input)
            line.placeholder = f"why {verdict}? (required)"
            line.display = True
            self.set_focus(line)
            self._hint(TYPE)

    def action_record(self) -> None:
        """Put it on record, if there is a reason."""
        reason = self.query_one(Input).value.strip()
        if not self._verdict or self._busy:
            return
        if not reason:
            self._hint(f"a decision needs a reason: why {self._verdict}?")
            return
        self._busy = True
        self._hint("recording ...")
        seen = self._found["evidence"]["digest"]
        words = ["decide", self._key, self._verdict, f"--reason={reason}", "--seen", seen]
        self._shell.perform(words, self._recorded)

    def _recorded(self, outcome: Outcome) -> None:
        if not outcome.failed:
            lacking = len(outcome.document["evidence"]["missing"])
            without = f", {lacking} inputs missing" if lacking else ""
            self._shell.say(f"on record: {self._verdict} {self._run_name}{without}")
        if not self.is_attached:
            if outcome.failed:
                self._shell.say(f"not on record: {outcome.line()}")
            return
        self._busy = False
        if outcome.failed:
            self._hint(f"not on record: {outcome.line()}")
            self._read()
        else:
            self.dismiss(None)

    def action_back(self) -> None:
        """From the reason to the evidence, from there out."""
        if not self._verdict:
            self.dismiss(None)
            return
        self._verdict = ""
        self.query_one(Input).display = False
        self.set_focus(None)
        self._hint(CHOOSE)

    def action_roll(self, by: int) -> None:
        """Scroll the evidence by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
