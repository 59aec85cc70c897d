"""The line in which a filter or a pattern is typed."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input


class FilterLine(Input):
    """Hidden until it is needed. `keep` is called when enter, or down, ends the typing.

    Called, not told by a message: the next key must find the rows and the focus as they are then.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "submit", "To the rows", show=False),
    ]

    def __init__(self, keep: Callable[[], None], hint: str, id: str = "filter") -> None:
        # selecting all on focus happens late: the next key would replace what was typed fast
        super().__init__(placeholder=hint, id=id, select_on_focus=False)
        self._keep = keep
        self.cursor_blink = False
        self.display = False

    async def action_submit(self) -> None:
        """Done typing."""
        self._keep()
