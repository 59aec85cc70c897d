"""An app that takes keys one at a time."""

from textual import events
from textual.app import App
from textual.widgets import Input

from .render import clean


class OneKeyApp(App[int]):
    """Finishes what a key or a paste does, a change of focus too, before the next is looked at.

    Textual posts a key to the focused widget and goes on, so of `/state` typed fast, or by a
    script, the letters would still go to the list. (Private names of the pinned Textual.)
    """

    async def on_event(self, event: events.Event) -> None:
        """Keys are taken one at a time, pastes too; everything else goes Textual's way."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._take_key(event)
        elif isinstance(event, events.Paste) and isinstance(self.focused, Input):
            self.focused._on_paste(events.Paste(_one_line(event.text)))
        else:
            await super().on_event(event)

    async def _take_key(self, event: events.Key) -> None:
        if await self._check_bindings(event.key, priority=True):
            return
        if isinstance(self.focused, Input) and event.is_printable:
            await self.focused._on_key(event)
        elif not await self._check_bindings(event.key):
            self.unused_key(event)

    def unused_key(self, event: events.Key) -> None:
        """A key that does nothing here."""


def _one_line(pasted: str) -> str:
    """All that is pasted: Textual would keep the first line alone, and not say so."""
    lines = [clean(line) for line in pasted.splitlines()]
    return lines[0] if len(lines) == 1 else " ".join(" ".join(lines).split())
