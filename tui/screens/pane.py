"""What every pane is: a view on the one State, updated when it is shown and when that changes."""

from typing import Protocol

from textual.containers import Vertical

from ..state import State


class Shell(Protocol):
    """What a pane asks of the dashboard that must be done before the next key is taken.

    Everything that may take its time is told by a message instead.
    """

    def say(self, text: str) -> None:
        """Say something in the status line; nothing said only renews it."""

    def open_run(self, key: str) -> None:
        """Show a run's curves."""


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
