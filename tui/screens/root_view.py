"""The Run pane's other abscissa: proxy against root KL, with its keys."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from ..messages import FrontierFound
from ..root_kl_desk import RootKL
from ..state import State
from .pane import Shell
from .plots_pane import PlotsPane


class RootView(PlotsPane):
    """Turns the view against root KL on and off, and has its checkpoints evaluated."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("K", "root", "root KL", tooltip="Proxy against root KL, or metrics by step"),
        Binding("e", "measure", "evaluate", tooltip="Evaluate the checkpoints that are not yet"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._root = RootKL(state, shell, self.post_message)

    def _against_root(self) -> bool:
        """Whether a key means nothing in the view against root KL, which is said."""
        if self._root.on:
            self.shell.say("against root KL there is proxy only, and no cursor: K back to steps")
        return self._root.on

    def action_root(self) -> None:
        self._root.on = not self._root.on
        self.update()
        self.shell.say("")

    def action_measure(self) -> None:
        self.shell.say(self._root.measure())

    def on_frontier_found(self, message: FrontierFound) -> None:
        """Evaluated checkpoints and best-of-n."""
        self._root.take(message)
        self.update()
