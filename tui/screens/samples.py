"""What a run says: its highest, lowest and random responses per family, beside the reference."""

from pathlib import Path
from textwrap import wrap
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ..bars import key_hints
from ..messages import SamplesFound, SamplesSaid
from ..render import clean, document_text, fit
from ..samples_view import (
    ABOUT,
    HEAD,
    KINDS,
    POSITIONS,
    POSITIONS_HEAD,
    counted,
    over,
    position_lines,
    response_text,
    tokens_line,
)
from ..samples_work import read_samples
from ..state import State
from ..tails_work import Cancel
from ..widgets.lines import Lines
from ..widgets.rows import Rows
from .dialogs import Ask, Reader, labelled
from .pane import Shell
from .probe import ProbeScreen

VIEWS = (*KINDS, POSITIONS)
KEYS = ("esc back", "tab view", "v family", "p probe", "i explain", "w write", "y copy")


class SamplesScreen(Screen[None]):
    """One family and one kind of response at a time; what is over-represented is marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v,right,l", "family(1)", "family", tooltip="Next family"),
        Binding("V,left,h", "family(-1)", "family back", tooltip="Previous family"),
        Binding(
            "tab,x", "view", "view", tooltip="Highest, lowest, random, by position", priority=True
        ),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("home", "move(-100000)", "First row", show=False),
        Binding("end,G", "move(100000)", "Last row", show=False),
        Binding("p,enter", "probe", "probe", tooltip="What each of its tokens adds to the score"),
        Binding("b", "scorer", "scored by", tooltip="Scores by the run's own model or the task's"),
        Binding("i", "explain", "explain", tooltip="What each number is, and what is marked"),
        Binding("y", "copy", "copy", tooltip="Copy the response under the cursor"),
        Binding("w", "write", "write", tooltip="Write all samples of the run to a JSON file"),
        *(Binding(key, f"pane({key})", "pane", show=False) for key in "123456"),
        Binding("escape,q", "leave", "back", tooltip="Back; what is being sampled is cancelled"),
    ]

    def __init__(self, shell: Shell, state: State, name: str, folder: Path) -> None:
        super().__init__()
        self.shell, self.state = shell, state
        self._run, self._folder = name, folder
        self._cancel = Cancel(shell.background.stopping)  # of what is read now
        self._document: dict[str, Any] = {}
        self._said = ""
        self._view = 0

    def compose(self) -> ComposeResult:
        """Whose and which, the favoured tokens, the responses, the keys."""
        yield Lines(id="samples-head")
        yield Lines(id="samples-tokens")
        yield Rows(id="samples-rows")
        yield Lines(id="samples-hint")

    def on_mount(self) -> None:
        """Give the keys to the responses, and read them."""
        self.query_one(Rows).focus()
        self._read()

    def _read(self) -> None:
        """Read them in a worker; what has no scores is sampled first."""
        self._document, self._said = {}, "looking for scores ..."
        self._cancel = cancel = Cancel(self.shell.background.stopping)
        place, folder, by_run = self.shell.place, self._folder, self.state.by_run

        def say(text: str) -> None:
            self.post_message(SamplesSaid(text, cancel))

        def work() -> None:
            with self.shell.background.held():
                found = read_samples(place, folder, by_run, say, cancel)
            self.post_message(SamplesFound(found, cancel))

        self.shell.work("samples", work)
        self._show()

    def on_samples_said(self, message: SamplesSaid) -> None:
        """How far the sampling is, if it is still what is wanted."""
        if not message.cancel.is_set():
            self._said = message.text
            self._show()

    def on_samples_found(self, message: SamplesFound) -> None:
        """The samples, or why there are none, if they are still what is wanted."""
        if message.cancel and message.cancel.is_set():
            return
        if isinstance(message.found, str):
            self._said = message.found
        else:
            self._document, self._said = message.found, "no responses"
        self._show()
        if self.state.by_run and self._document:
            self._hint(f"scores {self._by}")

    # -- what is shown ---------------------------------------------------------------------

    @property
    def families(self) -> list[str]:
        """Those of the document."""
        return list(self._document.get("families", {}))

    @property
    def family(self) -> str | None:
        """The family that is shown."""
        return self.state.family_of(self.families) if self.families else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What is shown: responses, or the token of each position."""
        if self.family is None:
            return []
        view = "positions" if VIEWS[self._view] == POSITIONS else VIEWS[self._view]
        return list(self._document["families"][self.family].get(view) or [])

    @property
    def _by(self) -> str:
        """Whose reward model the scores are of."""
        return f"by {clean(str(self._document.get('reward_model_is') or 'a reward model'))}"

    def _show(self) -> None:
        name = self.family
        one = self._document["families"][name] if name is not None else {}
        views = " ".join(f"[{v}]" if n == self._view else v for n, v in enumerate(VIEWS))
        names = self.families
        place = f"   family {names.index(name) + 1} of {len(names)}" if name is not None else ""
        head = Text(f" {clean(self._run)}   {clean(name or '')}   {views}{place}", style="bold")
        self.query_one("#samples-head", Lines).show([head])
        self._show_tokens(one)
        self._hint()
        self.query_one(Rows).show(*self._table(one), self._said)

    def _show_tokens(self, one: dict[str, Any]) -> None:
        """How many responses and which tokens are favoured, on one line or on some."""
        room = max(20, self.app.size.width - 2)
        back = "b scores by the task's reward model" if self.state.by_run else ""
        counts = f"{counted(one)}; raw, {self._by} (b)" if one else ""
        said = f"{counts}; {tokens_line(one)}" if one else back
        if len(said) > room:
            told = [fit(counts, room), *wrap(tokens_line(one), room, max_lines=2, placeholder=" …")]
        else:
            told = [said]
        told += [fit(clean(str(note)), room) for note in self._document.get("notes") or ()]
        tokens = self.query_one("#samples-tokens", Lines)
        tokens.styles.height = len(told)
        tokens.show([Text(f" {line}") for line in told])

    def _hint(self, *said: str) -> None:
        hint = key_hints((*said, *KEYS), self.app.size.width)
        self.query_one("#samples-hint", Lines).show([Text(hint)])

    def on_resize(self) -> None:
        """Another width has room for other lines."""
        self.call_after_refresh(self._show)

    def _table(self, one: dict[str, Any]) -> tuple[str, list[tuple[str, str | Text]]]:
        """Heading and lines of the view."""
        if VIEWS[self._view] == POSITIONS:
            head, lines = POSITIONS_HEAD, position_lines(one)
        else:
            marked = over(one)
            head, lines = HEAD, [response_text(row, marked) for row in self.rows]
        return head, [(f"{n}", line) for n, line in enumerate(lines)]

    # -- what keys do ----------------------------------------------------------------------

    @property
    def current(self) -> dict[str, Any] | None:
        """The response under the cursor."""
        place = self.query_one(Rows).place
        return self.rows[place] if place < len(self.rows) else None

    def action_family(self, by: int) -> None:
        self.state.turn_family(self.families, by)
        self._show()

    def action_view(self) -> None:
        self._view = (self._view + 1) % len(VIEWS)
        self._show()

    def action_scorer(self) -> None:
        self._cancel.set()
        self.state.by_run = not self.state.by_run
        self._read()

    def action_move(self, by: int) -> None:
        self.query_one(Rows).move(by)
        self._hint()

    async def action_pane(self, number: int) -> None:
        """Leave for a pane, which a person would else not see under this."""
        from ..panes import PANES  # one of them opens this screen

        self.action_leave()
        await self.app.run_action(f"pane('{PANES[number - 1].name}')", self.app)

    def action_leave(self) -> None:
        self._cancel.set()
        self.dismiss()

    async def action_probe(self) -> None:
        highest = self._document.get("families", {}).get(self.family, {}).get("highest") or [{}]
        row = highest[0] if VIEWS[self._view] == POSITIONS else self.current or {}
        prompt, response = str(row.get("prompt") or ""), str(row.get("response") or "")
        await self.app.push_screen(ProbeScreen(self.shell, prompt, response, self._folder))

    async def action_explain(self) -> None:
        await self.app.push_screen(Reader("samples", labelled(ABOUT)))

    def action_copy(self) -> None:
        if self.current is not None:
            self.app.copy_to_clipboard(document_text(self.current))
            self._hint("copied")

    async def action_write(self) -> None:
        if not self._document:
            self._hint("there is nothing to write yet")
            return
        text = document_text({"format": 1, "run": self._run, **self._document}, indent=1)

        def named(name: str | None) -> None:
            if name is not None:
                self.shell.write(Path(name), text)

        await self.app.push_screen(Ask("write the samples to", "samples.json", "JSON"), named)
