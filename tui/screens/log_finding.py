"""Finding lines of a log that is shown: a search, a filter, its errors."""

from ..render import clean
from ..state import State
from .dialogs import Ask
from .log_taking import LogTaking
from .pane import Shell


class LogFinding(LogTaking):
    """A page of a log that can be searched."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._searched = ""

    async def action_search(self) -> None:
        await self._ask("find", False)

    async def action_filter(self) -> None:
        await self._ask("show only lines that match", True)

    async def _ask(self, title: str, only: bool) -> None:
        def given(pattern: str | None) -> None:
            if pattern is not None:
                self._look_for(pattern, only)

        await self.app.push_screen(Ask(title, self._searched, "a regular expression"), given)

    def _look_for(self, pattern: str, only: bool) -> None:
        from sessions.errors import SessionError
        from sessions.log_search import checked

        try:
            checked(pattern)
        except SessionError as error:
            self.shell.say(clean(str(error)))
            return
        self._searched = pattern
        self.reader.search(pattern, only)

    def action_match(self, by: int) -> None:
        self._at = 0
        self.reader.next_match(by)

    def action_error(self) -> None:
        from sessions.log_text import ERRORS

        self._at = 0
        if self._searched == ERRORS and not self._page.filtered and self._page.found:
            self.reader.next_match(1)
        else:
            self._look_for(ERRORS, False)
