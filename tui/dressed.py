"""An app in one of our looks, with or without colour, in ASCII where that is wanted."""

from textual.app import App
from textual.filter import NoColor

from .driver import ConsoleDriver
from .looks import THEMES


class DressedApp(App[int]):
    """Wears a look; nothing in it moves by itself."""

    def __init__(self, look: str) -> None:
        super().__init__(driver_class=ConsoleDriver)
        if self.no_color:
            self._filters[-1] = NoColor()  # Textual's own choice here still sends greys
        self.look = look
        self.animation_level = "none"

    def dress(self) -> None:
        """Put on the look, for the first time or another one."""
        for theme in THEMES.values():
            self.register_theme(theme)
        if isinstance(self._driver, ConsoleDriver):
            self._driver.ascii = self.look == "ascii"
        self.theme = THEMES["light" if self.look == "light" else "dark"].name

    def wear(self, look: str) -> None:
        """Change to another look."""
        self.look = look
        self.dress()
        self.screen.refresh()

    def action_look(self, look: str) -> None:
        """Change to another look, for good."""
        self.wear(look)
