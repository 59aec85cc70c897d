"""What a launch form would start: how many runs, their names, how long they take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import CommandError
from .launch_form import Draft, field_of
from .render import clean

if TYPE_CHECKING:
    from sessions.progress import Pace

    from .place import Place

NAMED = 12  # runs of a sweep that are named


@dataclass(frozen=True)
class Preview:
    """What would run, or what is wrong and in which field."""

    count: int = 0
    names: tuple[str, ...] = ()  # of the first runs
    cores: int = 1
    takes: str = ""
    wrapped: bool = False
    field: str | None = None
    wrong: str = ""

    def lines(self) -> Iterator[str]:
        """The preview in words."""
        if self.wrong:
            yield clean(self.wrong)
            return
        runs = "1 run" if self.count == 1 else f"{self.count} runs"
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        rights = "; the wrapper runs with your rights" if self.wrapped else ""
        yield f"{runs} on {cores}, {self.takes}{rights}"
        more = ["..."] if self.count > len(self.names) else []
        yield clean(", ".join([*self.names, *more]))


def told(seconds: float | None, pace: "Pace | None") -> str:
    """A length of time by the measured pace, and what is not in it."""
    if seconds is None or pace is None:
        return "no run here tells how fast"
    about = f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
    return about if pace.beside is not None else f"{about} + start-up"


class Previewer:
    """Checks forms as the command would, for a worker: it reads the inputs.

    What stands while somebody types, the measured speed and the listed runs, is not read again.
    """

    def __init__(self, place: "Place", folders: Mapping[str, Path]) -> None:
        self._place, self._folders = place, folders

    @cached_property
    def _pace(self) -> "Pace | None":
        from sessions.paths import Workspace
        from sessions.progress import pace

        return pace(Workspace(self._place.workspace), self._place.task)

    def preview(self, draft: Draft) -> Preview:
        """What the form would start, or what is wrong with it."""
        from sessions.progress import expected_seconds, sweep_seconds
        from sessions.supervisor import cores

        from .launching import planned

        try:
            sweep = planned(self._place, draft.options(), draft.parent, self._folders)
        except CommandError as error:
            wrong = error.line().removeprefix("rlhf-tui: ")
            return Preview(field=field_of(error.message), wrong=wrong)
        pace, seconds = self._pace, None
        if pace:
            each = [expected_seconds(config, pace) for config in sweep.configs()]
            seconds = sweep_seconds(each, cores())
        wrapped = sweep.base["reward_wrapper"] is not None
        names = tuple(islice(sweep.names(), NAMED))
        return Preview(len(sweep), names, cores(), told(seconds, pace), wrapped)
