"""What is done to runs from the list and from the run view: one guard, one command each.

The command runs in a child (tui.performing), so quitting in the middle of it breaks nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from sessions.task import REFERENCE

from ..fields import Run
from ..messages import TrashListed
from ..performing import Outcome
from ..render import called, clean, fit
from ..run_rules import (
    Able,
    if_stopped,
    if_trashed,
    may_repeat,
    may_resume,
    may_stop,
    may_trash,
    note_commands,
    these,
    unsaved,
)
from ..widgets.choices import Choice
from .decide import decide_run
from .dialogs import Ask, Confirm, Picker, Told
from .launch import LaunchScreen
from .pane import Pane
from .samples import SamplesScreen

SHOWN = 8  # runs that a confirmation names one by one


class RunActions(Pane):
    """A pane that shows runs and acts on the marked ones, or else on the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "new run", tooltip="Launch runs; starts from this run's settings"),
        Binding("N", "clone", "clone", tooltip="Launch a run like this one, with changes"),
        Binding(
            "x", "samples", "samples", tooltip="What the run says, and which tokens it favours"
        ),
        Binding("d", "decide", "decide", tooltip="Ship or hold, with a reason and the evidence"),
        Binding("t", "note", "note, tag", tooltip="A note, or +tag and -tag"),
        Binding("r", "resume", "resume", tooltip="Go on from the last checkpoint"),
        Binding("R", "replay", "replay", tooltip="Run it again and compare the bytes"),
        Binding("U", "restore", "restore", tooltip="Bring a run back from the trash"),
        Binding("X", "stop", "stop", tooltip="Save and end (asks first)"),
        Binding("D", "trash", "trash", tooltip="Move to the trash (asks first)"),
    ]

    def targets(self) -> list[Run]:
        """The runs that a key acts on."""
        raise NotImplementedError

    # -- what every action shares ----------------------------------------------------------

    def _refused(self) -> bool:
        """The one guard of --read-only."""
        if self.shell.place.read_only:
            self.shell.say("--read-only: nothing is started, stopped or changed")
        return self.shell.place.read_only

    def _able(self, verb: str, why_not: Able) -> list[Run]:
        """The targets that can be acted on; the others are named with the reason."""
        if self._refused():
            return []
        runs = self.targets()
        able = [run for run in runs if not why_not(run)]
        refused = [f"{called(run)} {why_not(run)}" for run in runs if why_not(run)]
        if not runs:
            self.shell.say(f"no run to {verb}")
        elif refused and not able:
            self.shell.say(f"cannot {verb}: {'; '.join(refused)}")
        elif refused:
            self.shell.say(f"left out: {'; '.join(refused)}")
        return able

    async def _confirmed(
        self,
        question: str,
        runs: Sequence[Run],
        told: Callable[[Run], str],
        words: list[str],
        look: Callable[[Told], None] | None = None,
    ) -> None:
        """Ask with what would be lost, then do it to the runs."""
        lines = [f"{fit(called(run), 40)}  {told(run)}" for run in runs[:SHOWN]]
        lines += [f"and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else []

        def answered(yes: bool | None) -> None:
            if yes:
                self._do(words, runs)

        await self.app.push_screen(Confirm(question, lines, look), answered)

    def _do(self, words: list[str], runs: Iterable[Run]) -> None:
        """Do it to those that are still there; what waits comes first, else it would begin."""
        there = [run for run in runs if run["id"] in self.state.runs]
        ids = [run["id"] for run in sorted(there, key=lambda run: run["state"] != "queued")]
        if not ids:
            self.shell.say(f"cannot {words[0]}: it is gone")
            return
        self.shell.say(f"{words[0]}: {', '.join(ids)} ...")
        self.shell.perform([words[0], *ids, *words[1:]])

    # -- the actions -----------------------------------------------------------------------

    async def action_stop(self) -> None:
        if runs := self._able("stop", may_stop):
            folders = {called(r): self.state.folders[r["id"]] for r in runs[:SHOWN]}

            def look(tell: Told) -> None:
                self.shell.work("losses", lambda: tell(list(unsaved(folders))))

            await self._confirmed(f"Stop {these(runs)}?", runs, if_stopped, ["stop", "--yes"], look)

    async def action_trash(self) -> None:
        if runs := self._able("throw away", may_trash):
            question = f"Move {these(runs)} to the trash? U brings them back, prune does not."
            await self._confirmed(question, runs, if_trashed, ["rm", "--yes"])

    def action_resume(self) -> None:
        if runs := self._able("resume", may_resume):
            self._do(["resume"], runs)

    def action_replay(self) -> None:
        for run in self._able("replay", may_repeat):
            self._do(["replay", "--no-wait"], [run])

    async def action_note(self) -> None:
        runs = self.targets()
        if self._refused() or not runs:
            return
        names = called(runs[0]) if len(runs) == 1 else f"{len(runs)} runs"
        tags = dict.fromkeys(tag for run in runs for tag in run["tags"] or [])
        hint = f"text is a note; +tag adds, -tag removes   tags: {clean(', '.join(tags)) or 'none'}"

        def given(text: str | None) -> None:
            if text is None:
                self.shell.say("nothing was noted")
                return
            for words in note_commands(text, [run["id"] for run in runs]):
                self.shell.perform(words)

        await self.app.push_screen(Ask(f"note or tags for {fit(names, 40)}", "", hint), given)

    def action_restore(self) -> None:
        if self._refused():
            return

        def listed(outcome: Outcome) -> None:
            self.post_message(TrashListed(outcome))

        self.shell.perform(["restore"], listed)

    async def on_trash_listed(self, message: TrashListed) -> None:
        """Choose what comes back."""
        ids = message.outcome.document.get("trash") or []
        if message.outcome.failed or not ids:
            self.shell.say(message.outcome.line() or "the trash is empty")
            return

        def chosen(key: str | None) -> None:
            if key is not None:
                self.shell.perform(["restore", key])

        choices = [Choice(clean(str(key)), clean(str(key))) for key in ids]
        await self.app.push_screen(Picker("bring back from the trash", choices), chosen)

    async def action_decide(self) -> None:
        runs = self.targets()
        if len(runs) > 1:
            self.shell.say("decide on one run at a time: unmark the others (u)")
        else:
            await decide_run(self, runs[0] if runs else None)

    async def action_samples(self) -> None:
        if not (runs := self.targets()):
            self.shell.say("no run to look at")
            return
        key = runs[0]["id"]
        screen = SamplesScreen(self.shell, self.state, runs[0]["name"], self.state.folders[key])

        def seen(_: None) -> None:
            """Another family may be the chosen one."""
            self.update()
            self.shell.renew()

        await self.app.push_screen(screen, seen)

    # -- launching -------------------------------------------------------------------------

    async def action_new(self) -> None:
        await self._launch(clone=False)

    async def action_clone(self) -> None:
        await self._launch(clone=True)

    async def _launch(self, clone: bool) -> None:
        runs = self.targets()
        if self._refused():
            return
        like = runs[0] if runs else None
        if clone and (like is None or like["id"] == REFERENCE):
            why = "the reference has no settings to clone" if like else "no run to clone"
            self.shell.say(f"{why}: n starts a new run")
            return
        folder = self.state.folders[like["id"]] if like else None
        screen = LaunchScreen(self.state, self.shell, like, folder, clone)
        await self.app.push_screen(screen, self._launched)

    async def _launched(self, launched: tuple[list[str], bool] | None) -> None:
        if launched is None:
            return
        ids, follow = launched
        self.shell.say(f"queued: {', '.join(ids)}")
        self.shell.await_run(ids[0], "logs" if follow else None)
