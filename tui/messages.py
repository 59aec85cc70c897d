"""The dashboard's vocabulary. Workers post these; handlers in the app change the state.

RunsChanged -> State.take -> panes, measuring; Chosen -> follower;
CurvesChanged -> State.curves -> Run pane.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.message import Message

from .curves import Curve
from .performing import Outcome
from .root_kl import Found as FrontierPoints
from .tails_work import Cancel, Found, Rows

if TYPE_CHECKING:
    from sessions.catalogue import Listing
    from sessions.grades import Shelf
    from sessions.progress import Progress

    from .launch_preview import Preview
    from .log_page import Page


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


@dataclass
class TailsFound(Message):
    """The tails of the chosen runs, as far as they are measured."""

    found: Found


@dataclass
class RowsRead(Message):
    """The responses behind a bin of a histogram."""

    rows: Rows


@dataclass
class ScoresMeasuring(Message):
    """How far the sampling of scores is."""

    text: str


@dataclass
class ScoresMeasured(Message):
    """The sampling of scores is over; why it failed, or nothing."""

    failure: str


@dataclass
class TrashListed(Message):
    """What lies in the trash."""

    outcome: Outcome


@dataclass
class Previewed(Message):
    """What a launch form as typed would start, or which field is wrong; `number` says of when."""

    number: int
    preview: "Preview"


@dataclass
class WrappersFound(Message):
    """Wrapper files that a launch can use, by where they come from."""

    files: list[tuple[str, Path]]


@dataclass
class SourceRead(Message):
    """A wrapper's source, or why it cannot be read."""

    path: str
    lines: list[str]


@dataclass
class LossesFound(Message):
    """What an action that is being confirmed would lose, found in the runs' folders."""

    lines: list[str]


@dataclass
class SamplesSaid(Message):
    """How far the sampling of a run is; nobody asks any more once `cancel` is set."""

    text: str
    cancel: Cancel


@dataclass
class SamplesFound(Message):
    """A run's samples, or why there are none; nobody waits for them once `cancel` is set."""

    found: dict[str, Any] | str
    cancel: Cancel | None = None


@dataclass
class ProbeStarted(Message):
    """The child that answers probes is there, with this reward model."""

    said: str


@dataclass
class ProbeAnswered(Message):
    """The answer to probe `number`, or why there is none."""

    number: int
    found: dict[str, Any] | str


@dataclass
class FrontierFound(Message):
    """Evaluated checkpoints of the runs `keys`, and best-of-n."""

    keys: tuple[str, ...]
    found: FrontierPoints


@dataclass
class ShelfChanged(Message):
    """There are other submissions, gradings or kept grades than before."""

    shelf: "Shelf"


@dataclass
class GradesRead(Message):
    """Documents of kept grades, by id."""

    documents: dict[str, dict[str, Any]]


@dataclass
class FolderCompared(Message):
    """Whether a graded folder is still what the grade is of, in words."""

    identity: str
    said: str


@dataclass
class Remembered(Message):
    """A folder to grade was named: its place, or why it cannot be shown."""

    folder: str
    problem: str
