"""The dashboard's vocabulary. Workers post these; handlers in the app change the state.

RunsChanged -> State.take -> panes, measuring; Chosen -> follower;
CurvesChanged -> State.curves -> Run pane.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from .curves import Curve
from .performing import Outcome

if TYPE_CHECKING:
    from sessions.catalogue import Listing
    from sessions.progress import Progress

    from .log_reading import Page


@dataclass
class RunsChanged(Message):
    """A scan found other runs, or other facts of them, than the one before."""

    listing: "Listing"

    def can_replace(self, message: Message) -> bool:
        """Only the newest listing matters."""
        return isinstance(message, RunsChanged)


@dataclass
class CannotList(Message):
    """The runs cannot be listed at present; empty when they can again."""

    reason: str


@dataclass
class CurvesChanged(Message):
    """Logs that are shown have grown or were replaced: the new curves by run id."""

    curves: dict[str, Curve]


@dataclass
class JobsChanged(Message):
    """What runs and waits is another line now."""

    jobs: "Sequence[Progress]"
    paused: bool


@dataclass
class PageRead(Message):
    """What the Logs pane is to show now."""

    page: "Page"

    def can_replace(self, message: Message) -> bool:
        """Only the newest page matters."""
        return isinstance(message, PageRead)


@dataclass
class Chosen(Message):
    """Marks, or the run that is open, are others now."""


@dataclass
class Preferred(Message):
    """The person wants other columns, or another look."""


@dataclass
class Notice(Message):
    """Something to say once in the status line."""

    text: str


@dataclass
class MeasureAsked(Message):
    """Make the per-family evaluation of these runs."""

    keys: list[str]


@dataclass
class Measuring(Message):
    """How far an evaluation is; empty when there is none."""

    text: str


@dataclass
class ConfigsRead(Message):
    """The settings of runs, read from their folders."""

    configs: dict[str, dict[str, Any]]


@dataclass
class Performed(Message):
    """An action has ended, well or not; `done` is whom to tell."""

    outcome: Outcome
    done: Callable[[Outcome], Any]
