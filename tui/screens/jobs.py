"""Pane 6: what runs and what waits, the notes, and the alert rules."""

import re
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..alerts import alert_pairs
from ..job_rows import head_text, job_text
from ..messages import Preferred
from ..performing import Outcome
from ..render import clean
from ..state import State
from ..widgets.choices import Choice
from ..widgets.lines import Lines
from .dialogs import Ask, Confirm, Picker, Reader, labelled
from .pane import Pane, Shell

if TYPE_CHECKING:
    from sessions.progress import Progress

EMPTY = "Nothing runs and nothing waits: n in the list of runs launches some."
PAUSED = "PAUSED: what runs goes on, nothing more starts until p"
RULES = "alert rules: type one to add it"
NEW_RULE = "\n"  # no rule begins so
COMPARES = re.compile("[:=<>~]")  # a word alone looks for a rule


class RulePicker(Picker):
    """The alert rules; what is typed and is none of them can be added."""

    def matching(self, typed: str) -> list[Choice]:
        """The rules for what is typed, and the line that adds it: alone, if it compares."""
        rule, found = typed.strip(), super().matching(typed)
        if not rule:
            return found
        rules = [choice for choice in found if choice.key != NEW_RULE]
        if exact := [choice for choice in rules if choice.key == rule]:
            return exact
        adding = Choice(f"{NEW_RULE}{rule}", f"add the rule {clean(rule)}")
        return [adding] if COMPARES.search(rule) else [*rules, adding]


class JobsPane(Pane):
    """The line of runs and jobs, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", tooltip="Show the run's curves"),
        Binding("down,j", "move(1)", "down", tooltip="Next run or job"),
        Binding("up,k", "move(-1)", "up", tooltip="Run or job above"),
        Binding("J,shift+down", "place(1)", "later", tooltip="Move it one place back in line"),
        Binding("K,shift+up", "place(-1)", "sooner", tooltip="Move it one place forward in line"),
        Binding("p", "pause", "pause/go on", tooltip="Start nothing more, or go on"),
        Binding("X", "stop", "stop", tooltip="Stop the run or job, after a question"),
        Binding("l", "log", "log", tooltip="Show its log"),
        Binding("a", "rules", "alert rules", tooltip="Add, edit or remove alert rules"),
        Binding("A", "alerts", "alerts", tooltip="What holds now"),
        Binding("N", "notes", "notes", tooltip="What happened, newest first"),
        Binding("escape", "app.pane('runs')", "back", tooltip="Back to the list"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._at: str | None = None

    def compose(self) -> ComposeResult:
        """The line of jobs."""
        lines = Lines(id="jobs")
        lines.can_focus = True
        yield lines

    def on_mount(self) -> None:
        """Show what there is."""
        self.update()

    def on_resize(self) -> None:
        """Other columns have room."""
        self.update()

    def focus_default(self) -> None:
        """Give the keys to the line."""
        self.screen.set_focus(self.query_one("#jobs"))

    @property
    def current(self) -> "Progress | None":
        """The job under the cursor."""
        jobs = self.state.watch.jobs
        return next((job for job in jobs if job.id == self._at), jobs[0] if jobs else None)

    def update(self) -> None:
        """Show the line as it is now."""
        watch, here, room = self.state.watch, self.current, self.app.size.width
        top = [Text(f" {PAUSED}", style="bold")] if watch.paused else []
        if here is None:
            self.query_one("#jobs", Lines).show([*top, Text(f" {EMPTY}")])
            return
        top.append(Text(f"  {head_text(room)}", style="dim"))
        seen = max(1, self.app.size.height - 2 - len(top))
        first = max(0, list(watch.jobs).index(here) - seen + 1)
        shown = watch.jobs[first : first + seen]
        rows = [self._row(job, job.id == here.id, room) for job in shown]
        self.query_one("#jobs", Lines).show([*top, *rows])

    def _row(self, job: "Progress", here: bool, room: int) -> Text:
        return Text(f"{'▸' if here else ' '} {job_text(job, room)}", "reverse" if here else "")

    def status(self) -> str:
        """Counts, and whether the line stands."""
        watch = self.state.watch
        waiting = sum(job.state == "queued" for job in watch.jobs)
        parts = [f"{len(watch.jobs) - waiting} running, {waiting} waiting"]
        parts += ["paused (p goes on)"] if watch.paused else []
        parts.append(f"{len(watch.notes)} notes (N)  {len(watch.alerts.rules)} rules (a)")
        return "  ".join(parts)

    # -- what keys do ----------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        jobs, here = list(self.state.watch.jobs), self.current
        if here is not None:
            self._at = jobs[max(0, min(jobs.index(here) + by, len(jobs) - 1))].id
            self.update()

    def _refused(self) -> bool:
        if self.shell.place.read_only:
            self.shell.say("--read-only: nothing is changed")
        return self.shell.place.read_only

    def _perform(self, *words: str) -> None:
        self.shell.perform(words, self._done)

    def _done(self, outcome: Outcome) -> None:
        """Say what became of it; the line itself comes by the next look."""
        self.shell.say(outcome.line() or clean(f"done: {' '.join(outcome.words)}"))

    def action_place(self, by: int) -> None:
        job = self.current
        if job is None or self._refused():
            return
        if job.place is None:
            self.shell.say("it runs already: only what waits has a place in line")
            return
        running = len(self.state.watch.jobs) - self._waiting()
        to = max(1, min(job.place + by, self._waiting()))
        self._at = job.id
        self._perform("jobs", "move", job.id, "--to", str(to + running))

    def _waiting(self) -> int:
        return sum(job.state == "queued" for job in self.state.watch.jobs)

    def action_pause(self) -> None:
        if not self._refused():
            self._perform("jobs", "go" if self.state.watch.paused else "pause")

    async def action_stop(self) -> None:
        job = self.current
        if job is None or self._refused():
            return
        lost = [f"{job.kind} {job.name}, {job.state}"]
        if job.step:
            lost.append(f"at step {job.step} of {job.steps}; what it logged is kept")

        def answered(yes: bool | None) -> None:
            if yes:
                self._perform("stop", job.id, "--yes")

        await self.app.push_screen(Confirm(f"stop {job.name}?", lost), answered)

    async def action_open(self) -> None:
        job = self.current
        if job is not None and job.id in self.state.runs:
            await self.shell.open_run(job.id)
        elif job is not None:
            self.shell.say("it is no run: l shows its log")

    async def action_log(self) -> None:
        job = self.current
        if job is not None:
            self.state.logged = job.id
            await self.app.run_action("pane('logs')")

    async def action_notes(self) -> None:
        notes = [(note.clock, note.text) for note in reversed(self.state.watch.notes)]
        await self.app.push_screen(Reader("notes", labelled(notes or [("", "none yet")])))

    async def action_alerts(self) -> None:
        pairs = list(alert_pairs(self.state.watch.alerts.holding))
        await self.app.push_screen(Reader("what holds now", labelled(pairs or [("", "nothing")])))

    async def action_rules(self) -> None:
        rules = [Choice(rule, clean(rule), "enter edits") for rule in self.state.watch.alerts.rules]
        choices, enter = [Choice(NEW_RULE, "add a rule"), *rules], "adds or edits"
        await self.app.push_screen(RulePicker(RULES, choices, enter), self._chosen_rule)

    async def _chosen_rule(self, chosen: str | None) -> None:
        if chosen is None:
            return
        rule = chosen.removeprefix(NEW_RULE)
        if rule and rule != chosen:
            await self._take("", rule)
        else:
            await self._ask(rule, rule)

    async def _ask(self, old: str, typed: str, wrong: str = "") -> None:
        hint = wrong or "a filter, as in dune.kl>5 or train.kl>8; `remove` removes it"

        async def given(text: str | None) -> None:
            if text is not None:
                await self._take(old, text)

        await self.app.push_screen(Ask("alert when", typed, hint), given)

    async def _take(self, old: str, text: str) -> None:
        from ..filter import FilterError

        alerts = self.state.watch.alerts
        try:
            if old and text == "remove":
                alerts.remove(old)
            elif old:
                alerts.replace(old, text)
            else:
                alerts.add(text)
        except FilterError as error:
            await self._ask(old, text, clean(str(error)))
            return
        self.state.watch.note(alerts.check(self.state.runs))
        self.post_message(Preferred())
        self.shell.say(self.state.watch.tell())
