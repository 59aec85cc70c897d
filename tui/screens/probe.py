"""The probe box: a prompt and a response typed by hand, their score, what each token adds."""

import threading
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..exits import CommandError
from ..messages import ProbeAnswered, ProbeStarted
from ..render import clean
from ..samples_view import probe_lines
from ..samples_work import ask
from ..widgets.lines import Lines
from ..widgets.typing_line import TypingLine
from .pane import Shell

if TYPE_CHECKING:
    from sessions.probe import Probe

HINT = "adds: less the mean of its 23 swaps   tab other line   esc closes"


class ProbeScreen(ModalScreen[None]):
    """Scores what is typed, as it is typed, in a child that is kept warm while the box is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("tab,down,up,enter", "other", "Other line", show=False, priority=True),
    ]

    def __init__(
        self, shell: Shell, prompt: str, response: str, folder: Path | None = None
    ) -> None:
        super().__init__()
        self.shell = shell
        self._folder = folder  # of the run whose reward model is wanted
        self._typed = (prompt, response)
        self._number = 0
        self._lock = threading.Lock()  # over the two below
        self._closed = False
        self._asking = False  # one question at a time
        self._probe: Probe | None = None

    def compose(self) -> ComposeResult:
        """Two lines to type in, and the answer."""
        with Vertical(classes="box"):
            yield Static("probe", id="probe-title", classes="box-title", markup=False)
            yield TypingLine(self._typed[0], id="probe-prompt", placeholder="dune v0 v1 v2 v3")
            response = "pa ka la ma na pa ra sa"
            yield TypingLine(self._typed[1], id="probe-response", placeholder=response)
            yield Lines(id="probe-answer")
            yield Static(HINT, classes="box-hint", markup=False)

    def on_mount(self) -> None:
        """Warm the reward model; score what is there."""
        self.query_one("#probe-response", Input).focus()
        self._say(["loading the reward model ..."])
        place, folder = self.shell.place, self._folder

        def start() -> None:
            from sessions.errors import SessionError
            from sessions.probe import Probe

            try:
                self._keep(Probe(place.checked_task(), folder))
            except (SessionError, CommandError) as error:
                inside = str(error).replace(f"{place.task}/", "")  # a long path would be cut
                self.post_message(ProbeAnswered(0, inside))

        self.shell.work("probe", start)

    def _keep(self, probe: "Probe") -> None:
        """In a worker: the child goes with the box, also with one that is closed by now."""
        with self._lock:
            closed = self._closed
            self._probe = None if closed else probe
        if closed:
            probe.close()
        else:
            self.post_message(ProbeStarted(probe.reward_model.said))

    def on_probe_started(self, message: ProbeStarted) -> None:
        """The child is there: say whose reward model it has, and score what is typed."""
        self.query_one("#probe-title", Static).update(clean(f"probe: {message.said}"))
        self._ask()

    def on_unmount(self) -> None:
        """End the child, in a thread that is no worker: the dashboard may end and begin none."""
        with self._lock:
            self._closed, probe, self._probe = True, self._probe, None
        if probe is not None:
            threading.Thread(target=probe.close, name="probe-end").start()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Score it as soon as it can be."""
        event.stop()
        self._ask()

    def _ask(self) -> None:
        from sessions.probe import wrong_in

        prompt, response = (self.query_one(f"#probe-{w}", Input).value for w in _WHICH)
        self._number += 1
        number, probe = self._number, self._probe
        if wrong := wrong_in(prompt, response):
            self._say([wrong])
        elif probe is not None and not self._asking:
            self._asking = True
            self.shell.work(
                "probe",
                lambda: self.post_message(ProbeAnswered(number, ask(probe, prompt, response))),
            )

    def on_probe_answered(self, message: ProbeAnswered) -> None:
        """Show the answer; if something else is typed by now, ask again."""
        self._asking = False
        if message.number in (0, self._number):
            found = message.found
            room = max(20, self.query_one("#probe-answer").size.width)
            self._say(wrap(found, room) if isinstance(found, str) else probe_lines(found))
        else:
            self._ask()

    def _say(self, lines: list[str]) -> None:
        self.query_one("#probe-answer", Lines).show([Text(clean(line)) for line in lines])

    def action_other(self) -> None:
        self.focus_next(Input)


_WHICH = ("prompt", "response")
