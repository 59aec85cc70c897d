"""What the samples and the probe have done beside the event loop. No Textual here."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sessions.errors import SessionError

from .exits import CommandError
from .render import clean
from .tails_work import Cancel, scored_task

if TYPE_CHECKING:
    from sessions.probe import Probe

    from .place import Place

Document = dict[str, Any]


def read_samples(
    place: "Place", folder: Path, by_run: bool, say: Callable[[str], None], cancel: Cancel
) -> Document | str:
    """The samples of a run, or why there are none. Samples what is lacking, unless read-only.

    `by_run`: scored by the reward model that it was trained with, not the task's.
    """
    from sessions.paths import Workspace
    from sessions.reward_model import notes
    from sessions.samples import Counts, Samples
    from sessions.unready import policy_lack

    def report(done: int, total: int) -> None:
        say(f"sampling and scoring: {100 * done // max(1, total)} % of a policy (esc cancels)")

    if lack := policy_lack(folder):
        return clean(f"it is {lack}")
    try:
        task, scorer = scored_task(place, by_run, [folder])
        made = Samples(task, Workspace(place.workspace), keep=not place.read_only)
        if place.read_only and made.lacking(folder):
            return "no scores yet, and --read-only samples nothing"
        found = made.document(folder, Counts(200, 200, 200), report, cancel)
        found |= scorer.document()
        return found | {"notes": notes(task, [(folder.name, folder)])}
    except (SessionError, CommandError, OSError) as error:
        return "cancelled: nothing was kept" if cancel.is_set() else clean(str(error))


def ask(probe: "Probe", prompt: str, response: str) -> Document | str:
    """The answer to a probe, or why there is none."""
    try:
        return probe.ask(prompt, response)
    except SessionError as error:
        return clean(str(error))
