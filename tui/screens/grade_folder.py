"""Whether a graded folder is still what was graded: looked at once the cursor rests on a grade."""

from functools import partial

from ..grade_desk import Desk
from ..grading import GRADE
from ..messages import FolderCompared
from ..state import State
from .grade_actions import GradeActions
from .pane import Shell

REST_S = 0.4  # the cursor rests so long before a folder is hashed
BEGUN = "is being compared ..."


class GradedFolder(GradeActions):
    """Hashes the folder of the grade under the cursor, once, in a worker."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._desk = Desk(self._workspace, shell.background.stopping)
        self._compared: dict[str, str] = {}  # by grade

    def _show_detail(self) -> None:
        raise NotImplementedError

    def folder_said(self, key: str) -> str:
        """What is known of the folder of a grade, in words."""
        return self._compared.get(key, BEGUN)

    def _rest(self) -> None:
        item = self.table.current
        if item is not None and item.kind == GRADE and item.key not in self._compared:
            self.set_timer(REST_S, partial(self._compare_folder, item.key))

    def _compare_folder(self, key: str) -> None:
        item, document = self.table.current, self._documents.get(key)
        if item is None or item.key != key or document is None or key in self._compared:
            return
        self._compared[key] = BEGUN
        compare, post = self._desk.compare, self.post_message
        self.shell.work("grade-folder", lambda: post(FolderCompared(key, compare(document))))

    def on_folder_compared(self, message: FolderCompared) -> None:
        """Whether the folder is still what was graded."""
        message.stop()
        self._compared[message.identity] = message.said
        self._show_detail()
