"""An app of panes: one is shown at a time, and each is made when it is first shown."""

from typing import Any, cast

from textual import events
from textual.app import App, ScreenStackError
from textual.screen import Screen

from .panes import PANES
from .screens.pane import Pane, Shell
from .state import State

SHORT = 16  # lines below which captions give way to rows


class PanedApp(App[int]):
    """Shows one of the panes, on the screen that is under all others."""

    VERTICAL_BREAKPOINTS = [
        (0, "flat"),
        (8, "low"),
        (12, "tall"),
    ]  # lines of the window from which on a screen has that class: dialogs keep their keys in view
    state: State
    look: str
    current = PANES[0].name

    def renew(self) -> None:
        """The lines above and below the pane."""
        raise NotImplementedError

    def leaving(self) -> None:
        """Another pane is about to be shown."""
        raise NotImplementedError

    @property
    def base(self) -> Screen[Any]:
        """The screen under all others. Raises ScreenStackError once it is taken down."""
        for screen in self.screen_stack:
            return screen
        raise ScreenStackError("the dashboard is over")

    @property
    def pane(self) -> Pane:
        """The pane that is shown."""
        return self.base.query_one(f"#pane-{self.current}", Pane)

    def made(self, name: str) -> Pane:
        """A new pane of that name."""
        kind = next(kind for kind in PANES if kind.name == name)
        pane = kind.make(self.state, self.look, cast(Shell, self))
        pane.id = f"pane-{name}"
        return pane

    def on_resize(self, event: events.Resize) -> None:
        """Low windows keep their lines for rows."""
        self.base.set_class(event.size.height < SHORT, "short")
        self.call_next(self.renew)  # by then the app's own size is the new one

    async def action_pane(self, name: str) -> None:
        """Show a pane."""
        if name != self.current:
            self.leaving()
            await self._mounted(name)
            self.pane.display = False
            self.pane.hidden()
            self.current = name
            self.pane.display = True
            self.pane.shown()
        self.pane.update()
        self.pane.focus_default()
        self.renew()

    def unused_key(self, event: events.Key) -> None:
        """Say of a key of other panes which they are."""
        there = [f"{kind.title} ({kind.key})" for kind in PANES if event.key in kind.keys]
        if there and event.is_printable and self.screen is self.base:
            self.pane.shell.say(f"{event.character} is a key of {' and '.join(there)}")

    async def _mounted(self, name: str) -> None:
        """Have the pane; the one before it is the current one until it can be shown."""
        if not self.base.query(f"#pane-{name}"):
            pane = self.made(name)
            pane.display = False
            await self.base.query_one("#panes").mount(pane)
