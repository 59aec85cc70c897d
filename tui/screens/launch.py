"""The launch form: one line a setting, checked as it is typed, with what it would start."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from ..fields import Run
from ..launch_form import FIELDS, Draft, base_texts, field_of, placeholder
from ..launch_preview import Previewer
from ..messages import ConfigsRead, Previewed, SourceRead, WrappersFound
from ..performing import Outcome
from ..pollers import read_configs
from ..render import clean, fit
from ..state import State
from ..widgets.choices import Choice
from ..widgets.lines import Lines
from ..widgets.setting_row import SettingRow
from ..wrapper_files import source_lines, wrappers
from .dialogs import Picker, Reader
from .pane import Shell

PAUSE_S = 0.15  # of typing, after which the form is checked
RIGHTS = "a wrapper is your own code and runs with your rights"
HINT = "^s launch  ^l and follow  ^o wrappers  ^t source  ^y copy  ^r clear  esc leave"  # ^: ctrl

Launched = tuple[list[str], bool]


class LaunchScreen(Screen[Launched | None]):
    """Fields over a preview. What is typed is kept when the form is left with esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", tooltip="Leave; what is typed is kept"),
        Binding("down,enter", "next", "next", tooltip="The next field", priority=True),
        Binding("up", "previous", "previous", tooltip="The field before", priority=True),
        Binding("ctrl+s", "launch(False)", "launch", tooltip="Queue the runs", priority=True),
        Binding("ctrl+l", "launch(True)", "follow", tooltip="Queue, and follow", priority=True),
        Binding("ctrl+o", "wrappers", "wrappers", tooltip="Choose a wrapper", priority=True),
        Binding("ctrl+t", "source", "source", tooltip="Read the wrapper's source", priority=True),
        Binding("ctrl+y", "copy", "copy", tooltip="Copy the command line", priority=True),
        Binding("ctrl+r", "clear", "clear", tooltip="Empty every field", priority=True),
    ]

    def __init__(
        self, state: State, shell: Shell, like: Run | None, folder: Path | None, clone: bool
    ) -> None:
        super().__init__()
        self.shell = shell
        self._like, self._folder = like, folder
        self._kept = state.drafts
        self._previewer = Previewer(shell.place, state.folders)
        parent = like["id"] if like and clone else None
        self._draft = self._kept.get(parent) or Draft(parent)
        self._fresh = not self._draft.given()
        self._number = 0
        self._pause: Timer | None = None
        self._busy = self._checking = self._refused = False

    def compose(self) -> ComposeResult:
        """Heading, fields, preview, keys."""
        yield Lines(id="launch-head")
        with VerticalScroll(id="launch-fields", can_focus=False):
            for option in FIELDS:
                yield SettingRow(option, self._draft.typed.get(option, ""))
        yield Lines(id="launch-preview")
        yield Static(HINT, id="launch-hint", markup=False)

    def on_mount(self) -> None:
        """Read the run that it starts from; check what is there."""
        self.query(Input).first().focus()
        self._head({})
        if self._like and self._folder:
            key, folder = self._like["id"], self._folder
            self.shell.work(
                "form", lambda: self.post_message(ConfigsRead(read_configs({key: folder})))
            )
        self._check()

    def _head(self, config: dict[str, object]) -> None:
        name = clean(self._like["name"]) if self._like else ""
        if self._draft.parent is not None:
            title = f"clone of {name}: an empty field is as there"
        elif name and config:
            title = f"new run, filled in from {name}"
        else:
            title = "new run: an empty field has its default"
        self.query_one("#launch-head", Lines).show([Text(title, style="bold")])

    def on_configs_read(self, message: ConfigsRead) -> None:
        """The settings of the run it starts from: filled in, or shown dimmed for a clone."""
        config = next(iter(message.configs.values()), {})
        cloned = self._draft.parent is not None
        task = self.shell.place.task.absolute()
        texts = base_texts(config, task) if config else {}
        for row in self.query(SettingRow):
            row.line.placeholder = placeholder(row.option, config if cloned else {})
            if not cloned and self._fresh and not row.line.value:
                row.line.fill_in(texts.get(row.option, ""))
        self._head(config)

    # -- checking --------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what is typed, and check it after a pause."""
        event.stop()
        before = self._draft.typed
        self._take()
        if self._refused and self._draft.typed == before:
            return  # told late: what was refused has it already
        self._number += 1  # what is being checked is no longer what is typed
        self._refused = False
        wrong = self._draft.mistakes()
        for row in self.query(SettingRow):
            row.mark(wrong.get(row.option, ""))
        self._say(list(wrong.values())[:2] or ["checking ..."], bool(wrong))
        if self._pause is not None:
            self._pause.stop()
        self._pause = None if wrong else self.set_timer(PAUSE_S, self._check)

    def _take(self) -> None:
        self._draft.typed = {row.option: row.line.value for row in self.query(SettingRow)}
        self._kept[self._draft.parent] = self._draft

    def _check(self) -> None:
        """Check all of it in a worker, one at a time; the newest is checked last."""
        if self._checking:
            return
        self._checking = True
        number, draft = self._number, Draft(self._draft.parent, dict(self._draft.typed))
        check = self._previewer.preview
        self.shell.work("preview", lambda: self.post_message(Previewed(number, check(draft))))

    def on_previewed(self, message: Previewed) -> None:
        """Show what it would start, or mark what is wrong; only of what is typed now."""
        self._checking = False
        if self._busy or self._refused:  # a check begun before it must not hide what it says
            return
        if message.number != self._number:
            if not self._draft.mistakes():
                self._check()
            return
        found = message.preview
        for row in self.query(SettingRow):
            row.mark(fit(clean(found.wrong), 200) if found.field == row.option else "")
        self._say(list(found.lines()), bool(found.wrong))

    def _say(self, lines: list[str], wrong: bool = False) -> None:
        style = "bold" if wrong else ""
        shown = [Text(("wrong: " if wrong else "") + line, style=style) for line in lines]
        shown = [*shown[:2], Text(clean(self._draft.line()), style="dim")]
        self.query_one("#launch-preview", Lines).show(shown)

    # -- what keys do ----------------------------------------------------------------------

    def action_next(self) -> None:
        self.focus_next(Input)

    def action_previous(self) -> None:
        self.focus_previous(Input)

    def action_leave(self) -> None:
        self._take()
        self.dismiss(None)

    def action_clear(self) -> None:
        for row in self.query(SettingRow):
            row.line.value = ""

    def action_copy(self) -> None:
        self._take()
        self.app.copy_to_clipboard(self._draft.line())
        self._say(["copied"])

    def action_launch(self, follow: bool) -> None:
        """Queue what the form says. A refusal leaves the form as it is, the field marked."""
        if self._busy:
            return
        self._take()
        self._busy = True
        self._say(["checking and queueing ..."])

        def done(outcome: Outcome) -> None:
            self._busy = False
            if not outcome.failed:
                self._kept.pop(self._draft.parent, None)
            if not self.is_attached:
                told = "not queued: " + outcome.line() if outcome.failed else "queued"
                self.shell.say(told)
            elif outcome.failed:
                self._refuse(outcome)
            else:
                self.dismiss(([str(key) for key in outcome.document.get("runs", [])], follow))

        self.shell.perform(self._draft.words(), done)

    def _refuse(self, outcome: Outcome) -> None:
        self._refused = True
        wrong = field_of(outcome.message)
        for row in self.query(SettingRow):
            row.mark(outcome.line() if row.option == wrong else "")
            if row.option == wrong:
                row.line.focus()
        self._say([outcome.line()], wrong=True)

    # -- wrappers --------------------------------------------------------------------------

    def action_wrappers(self) -> None:
        place = self.shell.place
        self.shell.work("wrappers", lambda: self.post_message(WrappersFound(wrappers(place))))

    async def on_wrappers_found(self, message: WrappersFound) -> None:
        """Choose one; then its source is shown."""
        if not message.files:
            self._say(["no wrapper in the workspace, in earlier runs or shipped: type a path"])
            return
        choices = [
            Choice(str(path), clean(path.name), clean(f"{where}  {path}"))
            for where, path in message.files
        ]

        def chosen(key: str | None) -> None:
            if key is not None:
                self.query_one("#launch-wrapper", Input).value = key
                self._read_source(key)

        await self.app.push_screen(Picker(f"wrapper: {RIGHTS}", choices), chosen)

    def action_source(self) -> None:
        """Show the source of the wrapper that is typed, or that the cloned run has."""
        line = self.query_one("#launch-wrapper", Input)
        self._read_source(line.value.strip() or line.placeholder)

    def _read_source(self, path: str) -> None:
        self.shell.work(
            "source", lambda: self.post_message(SourceRead(path, source_lines(Path(path))))
        )

    async def on_source_read(self, message: SourceRead) -> None:
        """The source of the chosen wrapper, to read before it runs."""
        body = Text("\n".join([RIGHTS, "", *message.lines]), no_wrap=True, overflow="ellipsis")
        await self.app.push_screen(Reader(message.path, body))
