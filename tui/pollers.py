"""What runs beside the event loop: listing runs, following logs, measuring. No Textual here.

Each loop gets `post` to hand over what it found, and an event that ends it at once.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .curves import Curve, Follower
from .render import clean

if TYPE_CHECKING:
    from sessions.catalogue import Catalogue, Listing
    from sessions.evaluations import Evaluations

GLANCE_S = 1.0  # between looks at what may be moving
SCAN_S = 5.0  # between full scans, or more where a scan takes long:
SCAN_SHARE = 250  # a full scan takes at most one part in so many of the time
FOLLOW_S = 0.5
SAY_S = 1.0  # with the two above: at most four repaints a second that no key asked for


def watch_runs(
    catalogue: "Catalogue",
    post: Callable[["Listing"], None],
    failed: Callable[[str], None],
    stop: threading.Event,
    wake: threading.Event,
) -> None:
    """List the runs again and again; `wake` asks for a full scan now."""
    from sessions.task import TaskError

    due, trouble = 0.0, ""
    while not stop.is_set():
        try:
            began = time.monotonic()
            if began >= due or wake.is_set():
                wake.clear()
                post(catalogue.scan())
                due = time.monotonic() + max(SCAN_S, SCAN_SHARE * (time.monotonic() - began))
            elif (listing := catalogue.glance()) is not None:
                post(listing)
            now = ""
        except (TaskError, OSError) as error:
            now = clean(str(error))
        if now != trouble:
            trouble = now
            failed(now)
        wake.wait(GLANCE_S)


def follow_logs(
    wanted: Callable[[], Mapping[str, Path]],
    post: Callable[[dict[str, Curve]], None],
    stop: threading.Event,
    wake: threading.Event,
) -> None:
    """Read what the wanted runs' logs gained; `wake` asks to look now.

    Another path, be it equal, is another wish: its log is told from the start.
    """
    followers: dict[str, tuple[Path, Follower]] = {}
    while not stop.is_set():
        wake.clear()
        logs = wanted()
        followers = {key: pair for key, pair in followers.items() if logs.get(key) is pair[0]}
        changed = {}
        for key, path in logs.items():
            is_new = key not in followers
            follower = followers.setdefault(key, (path, Follower(path)))[1]
            curve = _look(follower, is_new)
            if curve is not None:
                changed[key] = curve
        if changed:
            post(changed)
        wake.wait(FOLLOW_S)


def _look(follower: Follower, is_new: bool) -> Curve | None:
    """The new curve; an empty one for a run that has no log (yet)."""
    try:
        return follower.look()
    except OSError:
        return Curve() if is_new else None


def measure(
    evaluations: "Evaluations",
    folders: Sequence[tuple[str, Path]],
    say: Callable[[str], None],
    cancel: threading.Event,
) -> list[str]:
    """Evaluate the runs one after the other; gives back what could not be measured, and why."""
    from sessions.evaluation_child import EvaluationError

    failures: list[str] = []
    for place, (name, folder) in enumerate(folders, start=1):
        label = f"measuring {clean(name)} ({place}/{len(folders)})"
        say(label)
        try:
            evaluations.measure(folder, _at_intervals(say, label), cancel)
        except EvaluationError as error:
            if cancel.is_set():
                break
            failures.append(f"{clean(name)}: {clean(str(error))}")
    say("")
    return failures


def _at_intervals(say: Callable[[str], None], label: str) -> Callable[[int, int], None]:
    """Tells progress in percent, but no more often than every SAY_S."""
    told = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= SAY_S:
            told = time.monotonic()
            say(f"{label} {100 * done // max(1, total)}%")

    return report


def read_configs(
    folders: Mapping[str, Path], task: Path | None = None
) -> dict[str, dict[str, Any]]:
    """The settings of each run, of one that has not begun those on record; a run without any is
    left out. With `task`, paths under /task are those in it: one file has one name.
    """
    from sessions.rundir import settings

    read = {key: settings(folder, task) for key, folder in folders.items()}
    return {key: config for key, config in read.items() if config is not None}


def write_text(path: Path, text: str) -> str:
    """Write a file that is not there yet, whole; what to say about it. Raises OSError."""
    path = path.expanduser()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return f"written: {path}"
