"""Dialogs: a text to read, a choice to make, a line to type."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..messages import LossesFound
from ..render import clean
from ..widgets.choices import Choice, Choices
from ..widgets.typing_line import TypingLine

Told = Callable[[Sequence[str]], None]


class Reader(ModalScreen[None]):
    """A title and lines to read; any of esc, enter and q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,i,question_mark", "dismiss(None)", "Close", show=False),
        Binding("down,j", "roll(1)", "Down", show=False),
        Binding("up,k", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "roll(10)", "Page down", show=False),
        Binding("pageup", "roll(-10)", "Page up", show=False),
    ]

    def __init__(self, title: str, body: Text | Table) -> None:
        super().__init__()
        self._heading = title
        self._body = body

    def compose(self) -> ComposeResult:
        """A box with its title, the text, and how to leave."""
        with Vertical(classes="box"):
            yield Static(
                Text(clean(self._heading), style="bold"), classes="box-title", markup=False
            )
            with VerticalScroll(can_focus=False):
                yield Static(self._body, markup=False)
            yield Static("esc closes", classes="box-hint", markup=False)

    def action_roll(self, by: int) -> None:
        """Scroll the text by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


def labelled(pairs: Iterable[tuple[str, str]]) -> Table:
    """`label  text` lines, the labels aligned and dimmed, long texts wrapped beside them."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in pairs:
        table.add_row(Text(label), Text(value))
    return table


class Picker(ModalScreen[str | None]):
    """Choose one of many by typing part of it; esc chooses nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("enter", "choose", "Choose", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "move(10)", "Page down", show=False, priority=True),
        Binding("pageup", "move(-10)", "Page up", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], enter: str = "chooses") -> None:
        super().__init__()
        self._heading, self._choices = title, choices
        self._hint = f"enter {enter}, esc leaves"

    def compose(self) -> ComposeResult:
        """A line to type in, over what matches."""
        with Vertical(classes="box"):
            yield TypingLine(placeholder=self._heading)
            yield Choices()
            yield Static(self._hint, classes="box-hint", markup=False)

    def on_mount(self) -> None:
        """Show all choices at first."""
        self.set_focus(self.query_one(Input))
        self.query_one(Choices).show(self._choices)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what holds every typed word."""
        self._narrow()

    def _narrow(self) -> None:
        self.query_one(Choices).show(self.matching(self.query_one(Input).value))

    def matching(self, typed: str) -> list[Choice]:
        """The choices for what is typed."""
        words = typed.lower().split()
        return [c for c in self._choices if all(word in c.searched for word in words)]

    def action_choose(self) -> None:
        """Choose what is under the cursor."""
        self._narrow()
        self.dismiss(self.query_one(Choices).current)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.query_one(Choices).move(by)


class Checklist(ModalScreen[list[str] | None]):
    """Check some of many; enter keeps the choice, esc what was before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("enter,c", "keep", "Keep", show=False),
        Binding("space", "check", "Check", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("J,shift+down", "shift(1)", "Move down", show=False),
        Binding("K,shift+up", "shift(-1)", "Move up", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], checked: Iterable[str]) -> None:
        super().__init__()
        self._heading = title
        self._checked = set(checked)
        self._choices = list(choices)

    def compose(self) -> ComposeResult:
        """The list, and its keys."""
        with Vertical(classes="box"):
            yield Static(self._heading, classes="box-title", markup=False)
            yield Choices()
            hint = "space checks, J K move it, enter keeps, esc leaves as it was"
            yield Static(hint, classes="box-hint", markup=False)

    def on_mount(self) -> None:
        """Show the choices."""
        self._show()

    def _show(self) -> None:
        self.query_one(Choices).show(self._choices, self._checked)

    def action_check(self) -> None:
        """Check or uncheck what is under the cursor."""
        current = self.query_one(Choices).current
        if current is not None:
            self._checked ^= {current}
            self._show()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.query_one(Choices).move(by)

    def action_shift(self, by: int) -> None:
        """Move what is under the cursor up or down in the order."""
        current = self.query_one(Choices).current
        keys = [choice.key for choice in self._choices]
        if current is None:
            return
        place = keys.index(current)
        target = max(0, min(place + by, len(keys) - 1))
        self._choices.insert(target, self._choices.pop(place))
        self._show()
        self.query_one(Choices).move(target - place)

    def action_keep(self) -> None:
        """Close with what is checked, in the order shown."""
        self.dismiss([c.key for c in self._choices if c.key in self._checked])


class Ask(ModalScreen[str | None]):
    """A line to type; esc gives nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("enter", "give", "Give", show=False, priority=True),
    ]

    def __init__(self, title: str, value: str, hint: str) -> None:
        super().__init__()
        self._heading, self._value, self._hint = title, value, hint

    def compose(self) -> ComposeResult:
        """Question, line, hint."""
        with Vertical(classes="box box-small"):
            yield Static(self._heading, classes="box-title", markup=False)
            yield TypingLine(self._value)
            yield Static(self._hint, classes="box-hint", markup=False)

    def on_mount(self) -> None:
        """Give the keys to the line."""
        self.set_focus(self.query_one(Input))

    def action_give(self) -> None:
        """Give back what was typed."""
        self.dismiss(self.query_one(Input).value.strip() or None)


class Confirm(ModalScreen[bool | None]):
    """A question with what would be lost; only y says yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes", show=False),
        Binding("n,escape,enter,q", "dismiss(False)", "No", show=False),
        Binding("down,j", "roll(1)", "Down", show=False),
        Binding("up,k", "roll(-1)", "Up", show=False),
        Binding("pagedown", "roll(10)", "Page down", show=False),
        Binding("pageup", "roll(-10)", "Page up", show=False),
    ]

    def __init__(
        self, question: str, lines: Sequence[str], look: Callable[[Told], None] | None = None
    ) -> None:
        super().__init__()
        self._question, self._said, self._look = question, lines, look

    def on_mount(self) -> None:
        """Have looked up what cannot be known at once; it is shown when it comes."""
        if self._look is not None:
            self._look(self.tell)

    def tell(self, lines: Sequence[str]) -> None:
        """Show more lines; may be called from a worker."""
        self.post_message(LossesFound(list(lines)))

    def on_losses_found(self, message: LossesFound) -> None:
        """What would be lost."""
        shown = "\n".join(clean(line) for line in message.lines)
        self.query_one("#losses", Static).update(shown)

    def compose(self) -> ComposeResult:
        """Question, what it means for each, how to answer."""
        with Vertical(classes="box"):
            yield Static(clean(self._question), classes="box-title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static("\n".join(clean(line) for line in self._said), markup=False)
                yield Static("", id="losses", markup=False)
            yield Static("y does it, esc does not", classes="box-hint", markup=False)

    def action_roll(self, by: int) -> None:
        """Scroll what would be lost by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
