"""An app whose keys and commands can be asked for, on whatever screen is on top."""

from textual.app import App

from .looks import LOOKS
from .palette import commands, help_text
from .screens.dialogs import Picker, Reader


class PaletteApp(App[int]):
    """Help and palette."""

    async def action_keys(self) -> None:
        """The keys that do something here."""
        await self.push_screen(Reader("keys", help_text(self.screen)))

    async def action_palette(self) -> None:
        """Every command by name."""
        found = commands(self.screen, self, LOOKS)

        async def run(key: str | None) -> None:
            if key is not None:
                await self.run_action(*found[key].call)

        await self.push_screen(Picker("command", [c.choice for c in found.values()]), run)
