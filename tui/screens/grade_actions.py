"""What the Grade pane does: grade, cancel, name a folder, make one from a run."""

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from sessions.errors import SessionError
from sessions.grades import remember
from sessions.paths import Workspace

from ..grading import GRADING, SUBMISSION
from ..messages import Remembered
from ..performing import Outcome
from ..render import called, clean, number_of
from ..state import State
from ..widgets.choices import Choice
from ..widgets.grade_list import GradeList
from .dialogs import Ask, Picker
from .pane import Pane, Shell

READ_ONLY = "--read-only: nothing is graded, stopped or written"


class GradeActions(Pane):
    """The actions on the item under the cursor; what shows them is a GradePane."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "grade", "grade", tooltip="Grade the submission, or the grade's folder again"),
        Binding("A", "unprotected", "unprotected", tooltip="Grade without walls, after asking"),
        Binding("o", "folder", "other folder", tooltip="Add a submission folder to the list"),
        Binding("G", "scaffold", "scaffold", tooltip="Make a submission folder from a run"),
        Binding("X", "cancel", "cancel", tooltip="Cancel the grading and all that it started"),
    ]

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._workspace = Workspace(shell.place.workspace.absolute())
        self._documents: dict[str, dict[str, Any]] = {}
        self._begun: tuple[str, str] | None = None  # folder and job, until the list has the job
        self._left_empty: dict[str, list[str]] = {}  # fields, by the folder that was made here
        self._named: list[str] = []  # folders named or made here, until the list has them

    @property
    def table(self) -> GradeList:
        """The list of what there is."""
        return self.query_one(GradeList)

    def action_grade(self) -> None:
        """Grade what is under the cursor."""
        folder = self._folder()
        if folder:
            self._grade(folder)
        else:
            self.shell.say("no folder to grade here: choose a submission, or o names one")

    def _folder(self) -> str:
        item = self.table.current
        if item is None:
            return ""
        if item.grading is not None:
            return item.grading.folder
        return item.key if item.kind == SUBMISSION else self._graded_folder(item.key)

    def _graded_folder(self, key: str) -> str:
        return str(self._documents.get(key, {}).get("folder") or "")

    def _grade(self, folder: str, *flags: str) -> None:
        if self.shell.place.read_only:
            self.shell.say(READ_ONLY)
            return
        self.shell.say(f"grading {clean(Path(folder).name)}: it goes on without the dashboard")
        self.shell.perform(["grade", "--job", *flags, folder], self._queued)

    def _queued(self, outcome: Outcome) -> None:
        if outcome.failed:
            self.shell.say(f"not graded: {outcome.line()}")
            return
        self._begun = outcome.words[-1], outcome.document["jobs"][0]
        self._follow()

    def _follow(self) -> None:
        """The cursor to a grading that was begun here, once it is listed."""
        if self._begun is None or not self.table.holds(GRADING, self._begun[1]):
            return
        (folder, job), self._begun = self._begun, None
        if self._folder() == folder:  # else the person has gone elsewhere
            self.table.go_to(GRADING, job)

    async def action_unprotected(self) -> None:
        """Grade without walls: only for one's own code, only after a typed yes."""
        folder = self._folder()
        if not folder or self.shell.place.read_only:
            self.shell.say(READ_ONLY if folder else "no folder to grade here")
            return
        hint = "its code could read the truth and your files: type yes for code of your own"
        title = f"run {clean(Path(folder).name)} WITHOUT protection?"

        def answer(said: str | None) -> None:
            if said == "yes":
                self._grade(folder, "--allow-unprotected")

        await self.app.push_screen(Ask(title, "", hint), answer)

    async def action_cancel(self) -> None:
        """Cancel a grading, after a typed yes."""
        item = self.table.current
        if self.shell.place.read_only or item is None or item.grading is None:
            said = "choose a grading that waits or runs"
            self.shell.say(READ_ONLY if self.shell.place.read_only else said)
            return
        key = item.key

        def answer(said: str | None) -> None:
            if said == "yes":
                self.shell.perform(["stop", key, "--yes"], self._cancelled)

        await self.app.push_screen(
            Ask(f"cancel {item.label}?", "yes", "enter cancels it, esc leaves it"), answer
        )

    def _cancelled(self, outcome: Outcome) -> None:
        self.shell.say(outcome.line() if outcome.failed else "cancelled; nothing of it is left")

    async def action_folder(self) -> None:
        """Name a folder anywhere; it stays in the list."""
        hint = "a folder with answer.json, checkpoint/, diagnostic.py, summary.md"
        await self.app.push_screen(Ask("submission folder", "", hint), self._named_one)

    def _named_one(self, folder: str | None) -> None:
        if folder is not None:
            self.shell.work("remember", partial(self._remember, Path(folder).expanduser()))

    def _remember(self, folder: Path) -> None:
        """In a worker: keep the folder, or only show it where nothing is written."""
        try:
            if self.shell.place.read_only:
                found, problem = str(folder.absolute()), "" if folder.is_dir() else "is no folder"
            else:
                found, problem = remember(self._workspace, folder), ""
        except (SessionError, OSError, ValueError) as error:
            found, problem = str(folder), str(error)
        self.post_message(Remembered(found, problem))

    def on_remembered(self, message: Remembered) -> None:
        """The folder is in the list."""
        message.stop()
        if message.problem:
            self.shell.say(clean(message.problem))
            return
        self._named.append(message.folder)
        self.update()
        self.table.go_to(SUBMISSION, message.folder)

    async def action_scaffold(self) -> None:
        """Choose a run and a name; a child makes the folder."""
        if self.shell.place.read_only:
            self.shell.say(READ_ONLY)
            return
        runs = self.state.runs.items()
        choices = [Choice(key, called(run), run["state"]) for key, run in runs]
        await self.app.push_screen(Picker("a submission from which run?", choices), self._from_run)

    async def _from_run(self, key: str | None) -> None:
        if key is not None:
            hint = "a word: in the workspace's submissions; or a path; must not exist"
            ask = Ask(f"submission of {key}: name", f"{key}-submission", hint)
            await self.app.push_screen(ask, partial(self._make, key))

    def _make(self, key: str, name: str | None) -> None:
        if name is not None:
            self.shell.say(f"making {clean(name)} ...")
            self.shell.perform(["scaffold", key, name], self._made)

    def _made(self, outcome: Outcome) -> None:
        if outcome.failed:
            self.shell.say(f"not made: {outcome.line()}")
            return
        folder, empty = outcome.document["folder"], outcome.document["empty"]
        self._left_empty[folder] = empty
        self._named.append(folder)
        self.update()
        self.table.go_to(SUBMISSION, folder)
        self.shell.say(f"made, with {number_of(len(empty), 'field')} still empty")
