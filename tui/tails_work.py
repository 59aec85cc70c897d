"""What the Tails pane has done beside the event loop: look up, measure, read rows. No Textual."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sessions.errors import SessionError

from .exits import CommandError
from .render import clean
from .tails_view import Tails

if TYPE_CHECKING:
    from sessions import tails as kept
    from sessions.reward_model import RewardModel
    from sessions.task import Task

    from .place import Place

Say = Callable[[str], None]


class Cancel(threading.Event):
    """Set by hand, or by the dashboard's end."""

    def __init__(self, stopping: threading.Event) -> None:
        super().__init__()
        self._stopping = stopping

    def is_set(self) -> bool:
        """Whether either has happened."""
        return super().is_set() or self._stopping.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set by hand, or the time is over."""
        return super().wait(timeout) or self.is_set()


@dataclass(frozen=True)
class Chosen:
    """Whose tails are wanted: runs as (id, folder), and score files from elsewhere.

    `by_run`: scored by the reward model that the runs were trained with, not the task's.
    """

    runs: tuple[tuple[str, Path], ...]
    files: tuple[Path, ...] = ()
    by_run: bool = False


@dataclass(frozen=True)
class Found:
    """What a look-up found: the tails of those with scores, the ids of those without.

    `by`: in words, whose reward model scores, where that of the runs was asked for.
    """

    chosen: Chosen
    by: str = ""
    tails: Tails | None = None
    sources: "Sequence[kept.Source]" = ()
    lacking: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Rows:
    """The responses behind a bin: what it is called, and per source its total and rows."""

    title: str
    parts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failure: str = ""


def look(place: "Place", chosen: Chosen, cancel: Cancel) -> Found:
    """The tails of what is measured already. Measures nothing."""
    from sessions.reward_model import notes
    from sessions.tails import Source, shown

    by = ""
    try:
        made, scorer = _tails(place, chosen)
        by = clean(scorer.said) if chosen.by_run else ""
        if told := _none_ready(chosen):
            return Found(chosen, by, failure=told)
        there, lacking = made.stored(made.beside(_wanted(chosen)))

        there += [Source(path.name, path) for path in chosen.files]
        names = tuple(one.name for one in lacking)
        beside = made.reference.name not in names
        if not there or (beside and len(there) == 1 and lacking):
            return Found(chosen, by, lacking=names)
        document = made.document(there, beside, cancel)
        needed = () if document["alone"] else names
        if chosen.runs or not document["alone"]:
            document |= scorer.document()
            document |= {"notes": notes(made.scores.task, chosen.runs)}
        return Found(chosen, by, Tails(document), shown(document, there), needed)
    except (SessionError, CommandError) as error:
        return Found(chosen, by, failure=clean(str(error)))


def _tails(place: "Place", chosen: Chosen) -> "tuple[kept.Tails, RewardModel]":
    from sessions.paths import Workspace
    from sessions.tails import Tails as Kept

    task, scorer = scored_task(place, chosen.by_run, [folder for _, folder in chosen.runs])
    return Kept(task, Workspace(place.workspace), keep=not place.read_only), scorer


def scored_task(
    place: "Place", by_run: bool, folders: Sequence[Path]
) -> "tuple[Task, RewardModel]":
    """The task with the reward model that scores: its own, or that of the runs in `folders`.

    Raises CommandError or SessionError.
    """
    from sessions.reward_model import scoring

    task = place.checked_task()
    scorer = scoring(task, "run" if by_run else "task", folders)
    return replace(task, scorer=scorer.folder), scorer


def _wanted(chosen: Chosen) -> "list[kept.Wanted]":
    from sessions.tails import Wanted

    return [Wanted(name, folder) for name, folder in chosen.runs]


def _unready(chosen: Chosen) -> dict[str, str]:
    """By id, why a chosen run has no policy to sample from."""
    from sessions.unready import policy_lack

    lacks = {key: policy_lack(folder, key) for key, folder in chosen.runs}
    return {key: clean(f"{key} is {lack}") for key, lack in lacks.items() if lack}


def _none_ready(chosen: Chosen) -> str:
    """Why no run that is chosen can be sampled; empty if one can, or if files are chosen."""
    unready = _unready(chosen)
    none = len(unready) == len(chosen.runs) and not chosen.files
    return "; ".join(unready.values()) if none else ""


def measure(place: "Place", chosen: Chosen, say: Say, cancel: Cancel) -> str:
    """Sample and score what lacks scores; why something could not be, or nothing."""
    try:
        made, _ = _tails(place, chosen)
        if told := _none_ready(chosen):
            return told
        unready = _unready(chosen)
        _, lacking = made.stored(made.beside(_wanted(chosen)))
        ready = [one for one in lacking if one.name not in unready]
        for count, one in enumerate(ready, start=1):
            label = f"scoring {clean(one.name)} ({count}/{len(ready)})"
            say(label)
            made.scores.measure(one.folder, _percent(say, label), cancel)
    except (SessionError, CommandError) as error:
        return "cancelled: nothing was kept" if cancel.is_set() else clean(str(error))
    return "; ".join(unready.values())


def _percent(say: Say, label: str) -> Callable[[int, int], None]:
    """Tells progress, a tenth at a time."""
    told = 0

    def report(done: int, total: int) -> None:
        nonlocal told
        tenth = 10 * done // max(1, total)
        if tenth > told:
            told = tenth
            say(f"{label} {10 * tenth}%")

    return report


def read_rows(
    sources: "Sequence[kept.Source]", title: str, part: "kept.Bin", cancel: Cancel
) -> Rows:
    """The responses behind a bin, of every source."""
    from sessions.tails import rows_behind

    try:
        return Rows(title, [(one.name, rows_behind(one.file, part, cancel)) for one in sources])
    except SessionError as error:
        return Rows(title, failure=clean(str(error)))
