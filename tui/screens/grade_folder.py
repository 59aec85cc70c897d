"""Whether a graded folder is still what was graded: looked at once the cursor rests on a grade."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..grade_desk import Desk
from ..grading import GRADE
from ..messages import FolderCompared
from ..state import State
from .grade_actions import GradeActions
from .pane import Shell

REST_S = 0.4  # the cursor rests so long before a folder is hashed
BEGUN = "is being compared ..."


class GradedFolder(GradeActions):
    """Hashes the folder of the grade under the cursor in a child, one folder at a time."""

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._desk = Desk(self._workspace, shell.background.stopping)
        self._compared: dict[str, str] = {}  # by grade
        self._hashing = False

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
        if not self._hashing:
            self._hashing = True
            self.shell.work("grade-folder", partial(self._hash_folder, key, document))

    def _hash_folder(self, key: str, document: Mapping[str, Any]) -> None:
        said = "cannot be compared"
        try:
            with self.shell.background.held():
                said = self._desk.compare(document)
        finally:
            self.post_message(FolderCompared(key, said))

    def on_folder_compared(self, message: FolderCompared) -> None:
        """Whether the folder is still what was graded; then the next one's turn."""
        message.stop()
        self._hashing = False
        self._compared[message.identity] = message.said
        self._show_detail()
        self._rest()
