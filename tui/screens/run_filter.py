"""The filter's line of the runs list: applied while it is typed, kept with enter."""

from textual.widgets import Input

from ..filter import FilterError
from ..filter_pass import AGAIN_S, PASS_S, SlowFilter
from ..messages import Chosen
from ..render import clean
from ..state import State
from .pane import Shell
from .run_actions import RunActions


class RunFilter(RunActions):
    """A pane of runs with a line for the filter, `#filter`."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._before = ""  # the filter when the line was opened
        self._patience = PASS_S  # what the next key may cost

    @property
    def line(self) -> Input:
        """The filter's line."""
        return self.query_one("#filter", Input)

    def action_filter(self) -> None:
        self._before = self.state.filter
        self.line.value = self.state.filter
        self.line.display = True
        self.screen.set_focus(self.line)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while it is typed; what is not finished yet changes nothing."""
        event.stop()
        if self.line.display and self._filtered(self._patience):
            self.shell.say("")

    def _filtered(self, seconds: float) -> bool:
        """Take the line's filter if it can be read and takes no longer; else say why not."""
        try:
            self.state.set_filter(self.line.value, seconds)
        except FilterError as error:
            if isinstance(error, SlowFilter):
                self._patience = AGAIN_S
            self.shell.say(clean(str(error)))
            return False
        self._patience = PASS_S
        self.update()
        return True

    def keep_filter(self) -> None:
        """Back to the rows, with the filter as typed."""
        if self._filtered(PASS_S):
            self._close_line()
            self.post_message(Chosen())

    def _close_line(self) -> None:
        self.line.display = False
        self.update()
        self.focus_default()
        self.shell.say("")

    def action_back(self) -> None:
        """Out of the filter's line, then out of the filter."""
        if self.line.display:
            self._set(self._before)
            self._close_line()
        elif self.state.filter:
            self._set("")
            self._chosen()

    def _set(self, text: str) -> None:
        try:
            self.state.set_filter(text)
        except FilterError:  # it has become slow on other runs
            self.state.set_filter("")
        self.update()

    def _chosen(self) -> None:
        self.update()
        self.shell.say("")
        self.post_message(Chosen())
