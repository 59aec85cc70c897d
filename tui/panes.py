"""The panes of the dashboard, in the order of their keys."""

from dataclasses import dataclass

from .screens.grade import GradePane
from .screens.jobs import JobsPane
from .screens.logs import LogsPane
from .screens.pane import Pane
from .screens.run import RunPane
from .screens.runs import RunsPane
from .screens.tails import TailsPane


@dataclass(frozen=True)
class PaneKind:
    """A pane: the key that shows it, its name, how it is made."""

    key: str
    name: str
    title: str
    make: type[Pane]

    @property
    def keys(self) -> set[str]:
        """Those that do something in it."""
        bound = [one for cls in self.make.__mro__ for one in vars(cls).get("BINDINGS", ())]
        return {key for one in bound for key in one.key.split(",")}


PANES = (
    PaneKind("1", "runs", "Runs", RunsPane),
    PaneKind("2", "run", "Run", RunPane),
    PaneKind("3", "tails", "Tails", TailsPane),
    PaneKind("4", "logs", "Logs", LogsPane),
    PaneKind("5", "grade", "Grade", GradePane),
    PaneKind("6", "jobs", "Jobs", JobsPane),
)
