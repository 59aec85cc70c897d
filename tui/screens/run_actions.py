"""What is done to runs from the list and from the run view: one guard, one command each.

The command runs in a child (tui.performing), so quitting in the middle of it breaks nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from sessions.states import LIVE

from ..fields import Run
from ..messages import TrashListed
from ..performing import Outcome
from ..render import clean, fit
from ..widgets.choices import Choice
from .decide import decide_run
from .dialogs import Ask, Confirm, Picker, Told
from .launch import LaunchScreen
from .pane import Pane
from .samples import SamplesScreen

ENDED_EARLY = ("stopped", "failed", "lost")
SHOWN = 8  # runs that a confirmation names one by one

Able = Callable[[Run], str]  # why a run is refused; empty if it is not


def may_stop(run: Run) -> str:
    """Only what waits or runs can be stopped."""
    return "" if run["state"] in LIVE else f"is {run['state']}"


def may_resume(run: Run) -> str:
    """Only a run of this workspace that ended early can go on."""
    if run["source"] != "workspace":
        return f"is {run['source']}, not of this workspace"
    return "" if run["state"] in ENDED_EARLY else f"is {run['state']}"


def may_trash(run: Run) -> str:
    """Only a run of this workspace that does not live can be thrown away."""
    if run["source"] != "workspace":
        return f"is {run['source']}, not of this workspace"
    return f"is {run['state']}: stop it first" if run["state"] in LIVE else ""


def may_repeat(run: Run) -> str:
    """Only a run that was launched here has a record to repeat."""
    return "" if run["source"] == "workspace" else f"is {run['source']}: it has no record here"


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
        refused = [f"{clean(run['name'])} {why_not(run)}" for run in runs if why_not(run)]
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
        lines = [f"{fit(clean(run['name']), 40)}  {told(run)}" for run in runs[:SHOWN]]
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
            folders = {clean(r["name"]): self.state.folders[r["id"]] for r in runs[:SHOWN]}

            def look(tell: Told) -> None:
                self.shell.work("losses", lambda: tell(list(_unsaved(folders))))

            await self._confirmed(
                f"Stop {_count(runs)}?", runs, _if_stopped, ["stop", "--yes"], look
            )

    async def action_trash(self) -> None:
        if runs := self._able("throw away", may_trash):
            question = f"Move {_count(runs)} to the trash? U brings them back, prune does not."
            await self._confirmed(question, runs, _if_trashed, ["rm", "--yes"])

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
        names = clean(runs[0]["name"]) if len(runs) == 1 else f"{len(runs)} runs"
        tags = dict.fromkeys(tag for run in runs for tag in run["tags"] or [])
        hint = f"text is a note; +tag adds, -tag removes   tags: {clean(', '.join(tags)) or 'none'}"

        def given(text: str | None) -> None:
            for words in note_commands(text or "", [run["id"] for run in runs]):
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
        screen = SamplesScreen(self.shell, runs[0]["name"], self.state.folders[key])
        await self.app.push_screen(screen)

    # -- launching -------------------------------------------------------------------------

    async def action_new(self) -> None:
        await self._launch(clone=False)

    async def action_clone(self) -> None:
        await self._launch(clone=True)

    async def _launch(self, clone: bool) -> None:
        runs = self.targets()
        if self._refused():
            return
        if clone and not runs:
            self.shell.say("no run to clone")
            return
        like = runs[0] if runs else None
        folder = self.state.folders[like["id"]] if like else None
        screen = LaunchScreen(self.state, self.shell, like, folder, clone)
        await self.app.push_screen(screen, self._launched)

    async def _launched(self, launched: tuple[list[str], bool] | None) -> None:
        if launched is None:
            return
        ids, follow = launched
        self.shell.say(f"queued: {', '.join(ids)}")
        self.shell.await_run(ids[0], "logs" if follow else None)


def _count(runs: Sequence[Any]) -> str:
    return "this run" if len(runs) == 1 else f"these {len(runs)} runs"


def _if_stopped(run: Run) -> str:
    if run["state"] == "queued":
        return "waits: it leaves the line"
    return f"at step {run['step'] or 0} of {run['steps'] or '?'}: it saves, ends, and can go on"


def _unsaved(folders: Mapping[str, Path]) -> Iterator[str]:
    """What is lost of each run that has to be killed. Looks for checkpoints: for a worker."""
    from sessions.child import last_checkpoint

    yield "\nif one cannot save in 30 s, it is killed, and what is left of it is:"
    for name, folder in folders.items():
        step = last_checkpoint(folder)
        yield f"{fit(name, 40)}  {'nothing' if step is None else f'its checkpoint at step {step}'}"


def _if_trashed(run: Run) -> str:
    kept = "notes and decisions stay"
    return f"{run['state']}, {run['step'] or 0} steps and its checkpoints go; {kept}"


def note_commands(text: str, ids: Sequence[str]) -> list[list[str]]:
    """The commands for a line of the note dialog: only +words and -words are tags, else a note."""
    words = text.split()
    if not all(len(word) > 1 and word[0] in "+-" for word in words):
        return [["note", key, "--", text.strip()] for key in ids]
    commands: list[list[str]] = []
    for sign, option in (("+", []), ("-", ["--remove"])):
        tags = [word[1:] for word in words if word[0] == sign]
        commands += [["tag", key, *option, "--", *tags] for key in ids if tags]
    return commands
