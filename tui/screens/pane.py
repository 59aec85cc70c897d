"""What every pane is: a view on the one State, updated when it is shown and when that changes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textual.containers import Vertical

from ..background import Background, Done
from ..state import State

if TYPE_CHECKING:
    from ..place import Place


class Shell(Protocol):
    """What a pane asks of the dashboard."""

    place: "Place"
    background: Background

    def say(self, text: str) -> None:
        """Say something in the status line; nothing said clears and renews it."""

    def renew(self) -> None:
        """Draw the lines above and below again, if they are other than before."""

    async def open_run(self, key: str, pane: str = "run") -> None:
        """Make `key` the open run and show it in a pane."""

    def await_run(self, key: str, pane: str | None) -> None:
        """Put the cursor on a run as soon as it is listed; with `pane`, open it there."""

    def work(self, group: str, work: Callable[[], Any]) -> None:
        """Do it in a thread worker, which tells what it found by posting a message to its pane."""

    def write(self, path: Path, text: str) -> None:
        """Write a file that is not there yet."""

    def perform(self, words: Sequence[str], done: Done | None = None) -> None:
        """Do what `rlhf-tui WORDS` does, in a child that outlives the dashboard."""


class Pane(Vertical):
    """A pane of the dashboard. It changes the state's choices and reports what it did."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__()
        self.state = state
        self.look = look
        self.shell = shell

    def update(self) -> None:
        """Show the state as it is now."""
        raise NotImplementedError

    def status(self) -> str:
        """What the status line says about this pane."""
        raise NotImplementedError

    def focus_default(self) -> None:
        """Give the keys to the part of the pane that they are for."""
        raise NotImplementedError

    def shown(self) -> None:
        """The pane has come on screen: begin what only a pane on screen needs."""

    def hidden(self) -> None:
        """The pane has left the screen: end that."""
