"""An app that takes keys one at a time."""

from textual import events
from textual.app import App
from textual.widgets import Input


class OneKeyApp(App[int]):
    """Finishes what a key does, a change of focus included, before the next key is looked at.

    Textual posts a key to the focused widget and goes on, so of `/state` typed fast, or by a
    script, the letters would still go to the list. (Private names of the pinned Textual.)
    """

    async def on_event(self, event: events.Event) -> None:
        """Keys are taken one at a time; everything else goes Textual's way."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._take_key(event)
        else:
            await super().on_event(event)

    async def _take_key(self, event: events.Key) -> None:
        if await self._check_bindings(event.key, priority=True):
            return
        if isinstance(self.focused, Input) and event.is_printable:
            await self.focused._on_key(event)
        else:
            await self._check_bindings(event.key)
