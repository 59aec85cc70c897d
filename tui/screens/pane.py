"""What every pane is: a view on the one State, updated when it is shown and when that changes."""

from collections.abc import Callable

from textual.containers import Vertical

from ..state import State


class Pane(Vertical):
    """A pane of the dashboard. It changes the state's choices and reports what it did."""

    def __init__(self, state: State, look: str, say: Callable[[str], None]) -> None:
        """`say` tells the status line something, at once; nothing said only renews it."""
        super().__init__()
        self.state = state
        self.look = look
        self.say = say

    def update(self) -> None:
        """Show the state as it is now."""
        raise NotImplementedError

    def status(self) -> str:
        """What the status line says about this pane."""
        raise NotImplementedError

    def focus_default(self) -> None:
        """Give the keys to the part of the pane that they are for."""
        raise NotImplementedError
