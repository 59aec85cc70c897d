"""What the Tails pane has asked for and what it got. No widgets, no files: workers do the work."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .messages import RowsRead, ScoresMeasured, ScoresMeasuring, TailsFound
from .render import clean
from .state import State
from .tails_text import NO_RUN, bin_range, bin_words
from .tails_view import Tails
from .tails_work import Cancel, Chosen, Found, look, measure, read_rows

if TYPE_CHECKING:
    from .screens.pane import Shell

MOST_RUNS = 8


class TailsDesk:
    """Keeps what was looked up for the choice that stands; hands work to the background."""

    def __init__(self, state: State, shell: "Shell", post: Callable[[Any], Any]) -> None:
        self._state, self._shell, self._post = state, shell, post
        self._asked: Chosen | None = None  # what is looked up, or was last
        self._found: Found | None = None
        self._measuring: Cancel | None = None
        self.files: tuple[Path, ...] = ()
        self.progress = ""
        self.reading = False  # the responses behind a bin

    def chosen(self) -> Chosen:
        """The open and marked runs, and the files from elsewhere."""
        folders = self._state.folders
        keys = [key for key in self._state.overlaid() if key in folders][:MOST_RUNS]
        runs = tuple((key, folders[key].absolute()) for key in keys)
        by_run = bool(runs) and self._state.by_run
        return Chosen(runs, self.files[: MOST_RUNS - len(runs)], by_run)

    @property
    def stale(self) -> bool:
        """Whether something else is chosen now than was looked up."""
        return self.chosen() != self._asked

    @property
    def found(self) -> Found | None:
        """What was looked up of the present choice; None while that goes on."""
        return self._found if self._found and self._found.chosen == self._asked else None

    @property
    def tails(self) -> Tails | None:
        """The tails of the present choice, if there are any yet."""
        return self.found.tails if self.found else None

    @property
    def lacking(self) -> str:
        """The names of what has no scores yet."""
        return ", ".join(map(clean, self.found.lacking)) if self.found else ""

    @property
    def by(self) -> str:
        """Whose reward model scores, where it was asked for that of the runs."""
        return f" by {self.found.by}" if self.found and self.found.by else ""

    @property
    def lost(self) -> str:
        """What brings scores back where the runs have no one reward model; else nothing."""
        none = self.found and self.found.chosen.by_run and not self.found.by
        return ": b scores by the task's reward model" if none else ""

    def _cancel(self) -> Cancel:
        return Cancel(self._shell.background.stopping)

    def look(self) -> None:
        """Look up what is chosen; a TailsFound comes of it."""
        chosen = self._asked = self.chosen()
        if chosen.runs or chosen.files:
            work = partial(look, self._shell.place, chosen, self._cancel())
            self._shell.work("tails", lambda: self._post(TailsFound(work())))

    def take(self, found: Found) -> bool:
        """Take what was looked up; False if something else is wanted by now."""
        if found.chosen != self._asked:
            return False
        self._found = found
        return True

    def open(self, name: str) -> None:
        """Choose a score file from elsewhere too."""
        path = Path(name).expanduser().absolute()
        self.files = (path, *(file for file in self.files if file != path))

    def why_nothing(self) -> str:
        """What to say where there are no tails to show."""
        chosen, found = self.chosen(), self.found
        if not chosen.runs and not chosen.files:
            return NO_RUN
        if self.progress or found is None:
            return self.progress or "Looking for scores."
        if found.failure:
            return f"✗ {found.failure}"
        if self._shell.place.read_only:
            return f"No scores yet{self.by}: {self.lacking}. --read-only measures nothing."
        said = "Press e to sample and score, some seconds each"
        return f"No scores yet{self.by}. {said}: {self.lacking}"

    def measure(self) -> str:
        """Score what lacks scores; what to say if that cannot be."""
        if self._shell.place.read_only:
            return "--read-only: nothing is measured"
        if self._measuring:
            return "already scoring: esc cancels it"
        if not self.lacking and not (self.found and self.found.failure):
            return "nothing to score: all that is chosen has its scores"
        self._measuring = self._cancel()
        self._shell.work("scores", partial(self._measure, self.chosen(), self._measuring))
        return ""

    def _measure(self, chosen: Chosen, cancel: Cancel) -> None:
        def say(text: str) -> None:
            self._post(ScoresMeasuring(text))

        with self._shell.background.held():
            failure = measure(self._shell.place, chosen, say, cancel)
        self._post(ScoresMeasured(failure))

    def measured(self) -> None:
        """The measuring is over: look again."""
        self._measuring, self.progress = None, ""
        self.look()

    def cancel(self) -> bool:
        """Cancel the measuring; False if there is none."""
        if self._measuring:
            self._measuring.set()
        return self._measuring is not None

    def read_rows(self, family: str, bins: range) -> bool:
        """Read the responses behind some bins, the runs' first; a RowsRead comes of it.

        False if there is nothing to read, or something is being read.
        """
        from sessions.tails import Bin

        tails, found = self.tails, self.found
        if not tails or not bins or found is None or self.reading:
            return False
        self.reading = True
        part = Bin(family, *bin_range(tails, bins), closed=bins.stop == len(tails.edges) - 1)
        title = f"{clean(family)} {bin_words(tails, bins)}"
        ground = int(tails.has_reference)
        sources = [*found.sources[ground:], *found.sources[:ground]]
        work = partial(read_rows, sources, title, part, self._cancel())
        self._shell.work("rows", lambda: self._post(RowsRead(work())))
        return True
