"""Which runs an action is for, what it would lose, and the commands of a note. No Textual here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions.states import LIVE

from .fields import Run
from .render import fit

ENDED_EARLY = ("stopped", "failed", "lost")

Able = Callable[[Run], str]  # why a run is refused; empty if it is not


def may_stop(run: Run) -> str:
    """Only what waits or runs can be stopped."""
    return "" if run["state"] in LIVE else f"is {run['state']}"


def may_resume(run: Run) -> str:
    """Only a run of this workspace that ended early can go on."""
    if run["source"] != "workspace":
        return f"is {run['source']}, not of this workspace"
    return "" if run["state"] in ENDED_EARLY else f"is {run['state']}"


def may_trash(run: Run) -> str:
    """Only a run of this workspace that does not live can be thrown away."""
    if run["source"] != "workspace":
        return f"is {run['source']}, not of this workspace"
    return f"is {run['state']}: stop it first" if run["state"] in LIVE else ""


def may_repeat(run: Run) -> str:
    """Only a run that was launched here has a record to repeat."""
    return "" if run["source"] == "workspace" else f"is {run['source']}: it has no record here"


def these(runs: Sequence[Any]) -> str:
    """`this run`, `these 3 runs`."""
    return "this run" if len(runs) == 1 else f"these {len(runs)} runs"


def if_stopped(run: Run) -> str:
    """What stopping a run means for it."""
    if run["state"] == "queued":
        return "waits: it leaves the line"
    return f"at step {run['step'] or 0} of {run['steps'] or '?'}: it saves, ends, and can go on"


def unsaved(folders: Mapping[str, Path]) -> Iterator[str]:
    """What is lost of each run that has to be killed. Looks for checkpoints: for a worker."""
    from sessions.child import last_checkpoint

    yield "\nif one cannot save in 30 s, it is killed, and what is left of it is:"
    for name, folder in folders.items():
        step = last_checkpoint(folder)
        yield f"{fit(name, 40)}  {'nothing' if step is None else f'its checkpoint at step {step}'}"


def if_trashed(run: Run) -> str:
    """What is lost of a run that is thrown away."""
    kept = "notes and decisions stay"
    return f"{run['state']}: {run['step'] or 0} steps go, with any checkpoint; {kept}"


def note_commands(text: str, ids: Sequence[str]) -> list[list[str]]:
    """The commands for a line of the note dialog: only +words and -words are tags, else a note."""
    words = text.split()
    if not all(len(word) > 1 and word[0] in "+-" for word in words):
        return [["note", key, "--", text.strip()] for key in ids]
    commands: list[list[str]] = []
    for sign, option in (("+", []), ("-", ["--remove"])):
        tags = [word[1:] for word in words if word[0] == sign]
        commands += [["tag", key, *option, "--", *tags] for key in ids if tags]
    return commands
