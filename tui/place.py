"""Where a command works: task, workspace and added runs, as the global options name them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import CommandError, Exit

if TYPE_CHECKING:
    from sessions.catalogue import Catalogue
    from sessions.evaluations import Evaluations
    from sessions.task import Task


@dataclass(frozen=True)
class Place:
    """The folders a command works on. `task` None means the shipped one."""

    workspace: Path
    task: Path
    extra: Sequence[Path]
    read_only: bool

    @classmethod
    def of(
        cls, workspace: Path | None, task: Path | None, extra: Sequence[Path], read_only: bool
    ) -> "Place":
        """From the options as given; what is not given has its default."""
        from sessions.paths import default_workspace, shipped_task

        return cls(workspace or default_workspace(), task or shipped_task(), extra, read_only)

    def checked_task(self) -> "Task":
        """The task folder. Raises CommandError if it is not whole."""
        from sessions.task import Task, TaskError

        task = Task(self.task)
        try:
            task.check()
        except TaskError as error:
            raise CommandError(Exit.INVALID, str(error), error.path, error.fix) from None
        return task

    def catalogue(self) -> "Catalogue":
        """The runs of this place. Raises CommandError if the task folder is not whole."""
        from sessions.catalogue import Catalogue
        from sessions.paths import Workspace

        return Catalogue(self.checked_task(), Workspace(self.workspace), self.extra)

    def evaluations(self) -> "Evaluations":
        """The per-family evaluations of this place, made by and kept for it."""
        from sessions.evaluations import Evaluations
        from sessions.paths import Workspace

        return Evaluations(self.checked_task(), Workspace(self.workspace))

    @property
    def view(self) -> Path:
        """Where the dashboard's preferences are kept."""
        from sessions.paths import Workspace

        return Workspace(self.workspace).view
