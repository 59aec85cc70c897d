"""The panes of the dashboard, in the order of their keys."""

from collections.abc import Callable
from dataclasses import dataclass

from .screens.jobs import JobsPane
from .screens.logs import LogsPane
from .screens.pane import Pane, Shell
from .screens.run import RunPane
from .screens.runs import RunsPane
from .state import State


@dataclass(frozen=True)
class PaneKind:
    """A pane: the key that shows it, its name, how it is made."""

    key: str
    name: str
    title: str
    make: Callable[[State, str, Shell], Pane]


PANES = (
    PaneKind("1", "runs", "Runs", RunsPane),
    PaneKind("2", "run", "Run", RunPane),
    PaneKind("4", "logs", "Logs", LogsPane),
    PaneKind("6", "jobs", "Jobs", JobsPane),
)
