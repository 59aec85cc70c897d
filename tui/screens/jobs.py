"""Pane 6: what runs and what waits, the order of the line, notes and alert rules."""

from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from sessions.progress import Progress

from ..filter import FilterError
from ..job_table import bar, duration
from ..messages import Preferred
from ..render import clean, figure, fit, pad
from ..widgets.choices import Choice
from ..widgets.lines import Lines
from ..widgets.rows import Rows
from .dialogs import Ask, Confirm, Picker, Reader, labelled
from .logs import LogsPane
from .pane import Pane

HEAD = f"{'id':24} {'kind':6} {'state':9} {'progress':19} {'steps/s':>7} {'left':>7}  note"
NOTHING = "nothing runs and nothing waits: n in Runs (1) launches a run"
NEW_RULE = "+"
REMOVE = "-"


class JobsPane(Pane):
    """The line of runs and jobs. Its rows come with the state."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", tooltip="The run's curves; of a job its output"),
        Binding("l", "log", "log", tooltip="The output"),
        Binding("p", "pause", "pause, go on", tooltip="Start nothing more, or go on"),
        Binding("K,shift+up", "shift(-1)", "sooner", tooltip="Move up in the line"),
        Binding("J,shift+down", "shift(1)", "later", tooltip="Move down in the line"),
        Binding("X", "stop", "stop", tooltip="Save and end (asks first)"),
        Binding("N", "notes", "notes", tooltip="What happened to runs since the start"),
        Binding("a", "rules", "alert rules", tooltip="Add, change or remove alert rules"),
        Binding("A", "alerts", "alerts", tooltip="For which runs which rule holds"),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("home", "move(-100000)", "First row", show=False),
        Binding("end", "move(100000)", "Last row", show=False),
        Binding("escape", "app.pane('runs')", "back", tooltip="Back to the list"),
    ]

    def compose(self) -> ComposeResult:
        """The line, and the newest notes."""
        yield Rows(id="jobs-rows")
        yield Lines(id="jobs-notes")

    @property
    def rows(self) -> Rows:
        """The line itself."""
        return self.query_one(Rows)

    @property
    def job(self) -> Progress | None:
        """What is under the cursor."""
        return next((job for job in self.state.jobs if job.id == self.rows.current), None)

    def focus_default(self) -> None:
        """Give the keys to the line."""
        self.screen.set_focus(self.rows)

    def update(self) -> None:
        """Show the line as it is now."""
        rows = [(job.id, job_line(job)) for job in self.state.jobs]
        self.rows.show(HEAD, rows, NOTHING)
        notes = [Text(f" {at}  {fit(text, 200)}") for at, text in list(self.state.notes.kept)[-3:]]
        self.query_one("#jobs-notes", Lines).show(notes)

    def status(self) -> str:
        """Counts, whether the line stands, alerts."""
        waiting = sum(job.state == "queued" for job in self.state.jobs)
        parts = [f"{len(self.state.jobs) - waiting} run, {waiting} wait"]
        parts += ["PAUSED: nothing more starts (p goes on)"] if self.state.paused else []
        parts += [f"{len(self.state.alerts.rules)} alert rules (a)"]
        return "  ".join(parts)

    # -- what keys do ----------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.rows.move(by)

    def _refused(self) -> bool:
        if self.shell.place.read_only:
            self.shell.say("--read-only: nothing is started, stopped or moved")
        return self.shell.place.read_only

    async def action_open(self) -> None:
        if self.job is not None and self.job.id in self.state.runs:
            await self.shell.open_run(self.job.id)
        else:
            await self.action_log()

    async def action_log(self) -> None:
        job = self.job
        if job is None:
            return
        if job.id in self.state.runs:
            await self.shell.open_run(job.id, "logs")
        else:
            await self.app.run_action("pane('logs')")
            self.app.query_one(LogsPane).show_job(job.id)

    def action_pause(self) -> None:
        if not self._refused():
            self.shell.perform(["jobs", "go" if self.state.paused else "pause"])

    def action_shift(self, by: int) -> None:
        job = self.job
        if job is None or self._refused():
            return
        if job.place is None:
            self.shell.say(f"{job.id} runs already: only what waits can be moved")
        elif job.place + by >= 1:
            started = sum(other.place is None for other in self.state.jobs)
            to = str(started + job.place + by)
            self.shell.perform(["jobs", "move", job.id, "--to", to])

    async def action_stop(self) -> None:
        job = self.job
        if job is None or self._refused():
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.shell.say(f"stop: {job.id} ...")
                self.shell.perform(["stop", job.id, "--yes"])

        lost = "it leaves the line" if job.state == "queued" else _if_stopped(job)
        await self.app.push_screen(Confirm(f"Stop {job.id}?", [lost]), answered)

    async def action_notes(self) -> None:
        pairs = list(self.state.notes.kept)[::-1] or [("", "nothing has happened yet")]
        await self.app.push_screen(Reader("notes, newest first", labelled(pairs)))

    async def action_alerts(self) -> None:
        pairs = [(rule, clean(name)) for (rule, _), name in self.state.alerts.holding.items()]
        await self.app.push_screen(Reader("alerts", labelled(pairs or [("", "no rule holds")])))

    async def action_rules(self) -> None:
        held = [rule for rule, _ in self.state.alerts.holding]
        choices = [Choice(NEW_RULE, "new rule ...", "a filter, such as dune.kl>5")]
        choices += [
            Choice(f"{n}", clean(rule), f"holds for {held.count(rule)} runs")
            for n, rule in enumerate(self.state.alerts.rules)
        ]
        await self.app.push_screen(Picker("alert rules", choices), self._edit_rule)

    async def _edit_rule(self, key: str | None) -> None:
        if key is None:
            return
        old = None if key == NEW_RULE else list(self.state.alerts.rules)[int(key)]
        hint = "a filter: dune.kl>5, train.kl>8 state=running" + (
            "" if old is None else "; - removes"
        )
        asked = Ask("alert when", old or "", hint)
        await self.app.push_screen(asked, partial(self._keep_rule, old))

    def _keep_rule(self, old: str | None, text: str | None) -> None:
        if text is None:
            return
        try:
            if text == REMOVE and old is not None:
                self.state.alerts.remove(old)
            else:
                self.state.alerts.add(text, old)
        except FilterError as error:
            self.shell.say(f"not kept: {clean(str(error))}")
            return
        self.state.alerts.check(self.state.runs)
        self.post_message(Preferred())
        self.shell.say("kept" if text != REMOVE else "removed")


def _if_stopped(job: Progress) -> str:
    if job.kind == "run":
        return f"at step {job.step or 0} of {job.steps or '?'}: it saves, ends, and can go on"
    return "it ends, and what it did so far is lost"


def job_line(job: Progress) -> str:
    """A job in one line."""
    done = f"{bar(job.step, job.steps, 8)} {job.step}/{job.steps}" if job.steps else "-"
    running = job.state == "running"
    speed = figure(job.steps_per_s) if running else "-"
    left = duration(job.left_s) if running else "-"
    note = job.reason or (f"place {job.place}" if job.place else "")
    cells = [pad(clean(job.id), 24), pad(clean(job.kind), 6), pad(job.state, 9), pad(done, 19)]
    return " ".join([*cells, f"{speed:>7}", f"{left:>7}", f" {clean(note)}"])
