"""Pane 5: what there is to grade, what is being graded, and what grades say."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from sessions.grades import Shelf
from sessions.paths import Workspace

from ..grade_compare import compared_lines
from ..grade_detail import detail_lines, grading_lines, submission_lines
from ..grading import GRADE, LEGEND, SUBMISSION, Item, items, stamp
from ..messages import GradesRead, ShelfChanged
from ..render import clean, number_of
from ..state import State
from ..widgets.grade_list import GradeList
from ..widgets.scroll_lines import ScrollLines
from .grade_folder import GradedFolder
from .pane import Shell

SIDE_BY_SIDE = 150  # cells from which on the detail stands beside the list
MOST_READ = 500  # documents kept in memory


class GradePane(GradedFolder):
    """Submissions and grades in a list, the one under the cursor in full."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", tooltip="Grade a submission, read a grade"),
        Binding("space", "mark", "mark", tooltip="Mark a grade; two are compared"),
        Binding("equals_sign", "compare", "compare", tooltip="The two marked grades side by side"),
        Binding("tab", "other_part", "list/detail", tooltip="Give the keys to the other part"),
        Binding("escape", "back", "back", tooltip="Back to the list, then unmark"),
    ]

    NOTE: ClassVar[str] = LEGEND  # under the keys of `?`

    def __init__(self, state: State, look: str, shell: Shell) -> None:
        super().__init__(state, look, shell)
        self._shelf: Shelf | None = None
        self._marks: list[str] = []
        self._comparing = False
        self._zoomed = False
        self._detail_of = ""

    def compose(self) -> ComposeResult:
        """The list, and beside or under it the detail."""
        with Container(id="grade-parts"):
            yield GradeList()
            yield ScrollLines(id="grade-detail")

    @property
    def detail(self) -> ScrollLines:
        """The item under the cursor, in full."""
        return self.query_one("#grade-detail", ScrollLines)

    def shown(self) -> None:
        """Look at the workspace while on screen."""
        tell, read = self.post_message, self.post_message
        loop = self._desk.watch(
            lambda shelf: tell(ShelfChanged(shelf)), lambda found: read(GradesRead(found))
        )
        self.shell.work("grades", loop)

    def hidden(self) -> None:
        """Look no more."""
        self._desk.leave()

    def on_resize(self, event: events.Resize) -> None:
        """Beside each other where there is room."""
        self.call_after_refresh(self.update)

    def on_sized_laid_out(self) -> None:
        """The detail's lines are wrapped for the width that it has, and its height counts."""
        self._show_detail()
        self.shell.renew()

    def on_scroll_lines_rolled(self) -> None:
        """Fewer lines are below, or more."""
        self.shell.renew()

    def focus_default(self) -> None:
        """Give the keys to the list, or to the detail that fills the pane."""
        self.screen.set_focus(self.detail if self._zoomed else self.table)

    # -- what is shown ---------------------------------------------------------------------

    def update(self) -> None:
        """Show list and detail as they are now."""
        if not self.is_mounted:
            return
        self.set_class(self.size.width >= SIDE_BY_SIDE, "wide")
        self.set_class(self._zoomed, "zoomed")
        shelf = self._shelf or Shelf()
        extra = tuple(one for one in self._named if one not in shelf.submissions)
        whole = Shelf(shelf.submissions + extra, shelf.gradings, shelf.kept)
        self.table.show(items(whole), self._documents, self._marks)
        self._want()
        self._show_detail()

    def _want(self) -> None:
        seen = [item.key for item in self.table.on_screen if item.kind == GRADE]
        self._desk.want(tuple(dict.fromkeys([*seen, *self._marks])))

    def _show_detail(self) -> None:
        item, room = self.table.current, max(20, self.detail.size.width)
        what = "compared" if self._comparing else f"{item.kind} {item.key}" if item else ""
        anew, self._detail_of = what != self._detail_of, what
        self.detail.show(self._lines(item, room), anew)

    def _lines(self, item: Item | None, room: int) -> list[Text]:
        if self._shelf is None:
            return [Text("looking for submissions and grades ...", "dim")]
        if self._comparing:
            left, right = (self._documents.get(key) for key in self._marks)
            return compared_lines((left or {}, right or {}), room)
        if item is None:
            return _nothing(self._workspace)
        if item.grading is not None:
            return grading_lines(item.grading, room)
        if item.kind == SUBMISSION:
            return submission_lines(item, self._left_empty.get(item.key) or ())
        document = self._documents.get(item.key)
        if document is None:
            return [Text("reading ...", "dim")]
        return detail_lines(document, stamp(item.at) or "", self.folder_said(item.key), room)

    def status(self) -> str:
        """Counts, marks, and what goes on."""
        shelf = self._shelf or Shelf()
        live = [one for one in shelf.gradings if one.state in ("queued", "starting", "running")]
        parts = [number_of(len(shelf.submissions), "submission")]
        parts += [number_of(len(shelf.kept), "grade")]
        parts += [f"{len(live)} being graded"] if live else []
        parts += [f"{len(self._marks)} marked"] if self._marks else []
        parts += (
            [f"{number_of(self.detail.more, 'more line')} below"]
            if self._zoomed and self.detail.more
            else []
        )
        return "  ".join(parts)

    # -- what workers tell -----------------------------------------------------------------

    def on_shelf_changed(self, message: ShelfChanged) -> None:
        """Another look at the workspace."""
        message.stop()
        self._shelf = message.shelf
        there = {one.id for one in message.shelf.kept}
        self._marks = [key for key in self._marks if key in there]
        self._comparing = self._comparing and len(self._marks) == 2
        self.update()
        self._follow()
        self.shell.renew()

    def on_grades_read(self, message: GradesRead) -> None:
        """Documents arrived."""
        message.stop()
        for key in list(self._documents)[: max(0, len(self._documents) - MOST_READ)]:
            del self._documents[key]
        if any(self._documents.get(key) != doc for key, doc in message.documents.items()):
            self._documents |= message.documents
            self.update()
            self._rest()

    def on_grade_list_moved(self, message: GradeList.Moved) -> None:
        """Another item: its detail, and once the cursor rests, its folder as it is by now."""
        message.stop()
        self._compared.clear()
        self._want()
        self._show_detail()
        self._rest()
        self.shell.say("")

    # -- what keys do ----------------------------------------------------------------------

    def action_other_part(self) -> None:
        """From the list to the detail, and back."""
        self.screen.set_focus(self.table if self.detail.has_focus else self.detail)

    def action_open(self) -> None:
        """Grade a submission; of a grade, read it in full; of two marked, compare them."""
        item = self.table.current
        if len(self._marks) == 2 and not self._zoomed:
            self.action_compare()
        elif item is not None and item.kind == SUBMISSION:
            self._grade(item.key)
        elif item is not None:
            self._zoom(True)

    def _zoom(self, zoomed: bool) -> None:
        self._zoomed = zoomed
        self.update()
        self.focus_default()
        self.call_after_refresh(self.update)

    def action_back(self) -> None:
        """Out of the comparison or the full view, then out of the marks."""
        if self._zoomed:
            self._comparing = False
            self._zoom(False)
        elif self.detail.has_focus:
            self.focus_default()
        elif self._marks:
            self._marks = []
            self.update()
        self.shell.say("")

    def action_mark(self) -> None:
        """Mark a grade; of three marked, the oldest mark goes."""
        item = self.table.current
        if item is None or item.kind != GRADE:
            self.shell.say("only grades are marked")
            return
        if item.key in self._marks:
            self._marks.remove(item.key)
        else:
            self._marks = [*self._marks[-1:], item.key]
        self.table.action_move(1)
        self.update()
        self.shell.say("")

    def action_compare(self) -> None:
        """The two marked grades side by side."""
        if len(self._marks) != 2:
            self.shell.say(f"mark two grades with space: {len(self._marks)} marked")
            return
        self._comparing = True
        self._zoom(True)
        self.shell.say("")


def _nothing(workspace: Workspace) -> list[Text]:
    return [
        Text("nothing to grade yet", "bold"),
        Text("G makes a submission folder from a run, o names a folder elsewhere;"),
        Text(f"what lies in {clean(str(workspace.submissions))} is listed by itself"),
    ]
