"""What the Grade pane does beside the event loop: looks, reads, compares. No Textual here."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .render import clean

if TYPE_CHECKING:
    from sessions.grades import Shelf
    from sessions.paths import Workspace

LOOK_S = 1.0  # between looks at the shelf
TICK_S = 0.1
COMPARE_S = 60.0  # the longest that hashing a folder may take


class Desk:
    """Watches one workspace's shelf while its pane is on screen, and reads what is wanted."""

    def __init__(self, workspace: "Workspace", stopping: threading.Event) -> None:
        self._workspace = workspace
        self._stopping = stopping
        self._wanted: tuple[str, ...] = ()
        self._round = 0

    def want(self, identities: tuple[str, ...]) -> None:
        """Read these grades, if they were not read yet."""
        self._wanted = identities

    def leave(self) -> None:
        """End the watch that goes on."""
        self._round += 1

    def watch(
        self,
        changed: Callable[["Shelf"], Any],
        read: Callable[[dict[str, dict[str, Any]]], Any],
    ) -> Callable[[], None]:
        """The loop of a worker, until `leave` or the end of the dashboard."""
        self._round += 1
        mine = self._round

        def loop() -> None:
            from sessions.grades import Shelf, Watch

            looker, before, due = Watch(self._workspace), Shelf(), 0.0
            known: dict[str, float] = {}
            told = False
            while mine == self._round and not self._stopping.is_set():
                if time.monotonic() >= due:
                    now = looker.look()
                    due = time.monotonic() + LOOK_S
                    if now != before or not told:
                        before, told = now, True
                        changed(now)
                self._read(known, read)
                self._stopping.wait(TICK_S)

        return loop

    def _read(
        self, known: dict[str, float], tell: Callable[[dict[str, dict[str, Any]]], Any]
    ) -> None:
        """Read what is wanted, each again only once its file is another."""
        from sessions.grades import read_grade, written_at

        stamps = {one: written_at(self._workspace, one) for one in self._wanted}
        unread = [one for one, stamp in stamps.items() if known.get(one) != stamp]
        if unread:
            known.update((one, stamps[one]) for one in unread)
            tell({one: read_grade(self._workspace, one) for one in unread})

    def compare(self, document: Mapping[str, Any]) -> str:
        """Whether the graded folder is still the same, in words; hashed by a child."""
        folder = document.get("folder")
        hashes = document.get("hashes")
        graded = hashes.get("submission") if isinstance(hashes, dict) else None
        if not isinstance(folder, str):
            return "is not known: it was graded before folders were kept"
        if not Path(folder).is_dir():
            return f"is gone: {clean(folder)}"
        if moved := _moved(document):  # such files are in no hash
            return f"CHANGED as it was read ({moved}): {clean(folder)}"
        now = self._digest(folder)
        if now is None:
            return f"cannot be read now: {clean(folder)}"
        same = now == graded
        return f"{'is unchanged' if same else 'DIFFERS since'}: {clean(folder)}"

    def _digest(self, folder: str) -> str | None:
        command = [sys.executable, "-P", "-m", "grader", "digest", folder]
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + COMPARE_S
        while child.poll() is None:
            if self._stopping.wait(0.05) or time.monotonic() > end:
                child.kill()
        out, _ = child.communicate()
        try:
            return str(json.loads(out)["submission"]) if child.returncode == 0 else None
        except (ValueError, KeyError, TypeError):
            return None


def _moved(document: Mapping[str, Any]) -> str:
    """The files that changed or went away while the grader copied them."""
    problems = document.get("problems")
    found = problems.items() if isinstance(problems, dict) else ()
    signs = ("changed while", "No such file")
    return ", ".join(clean(str(p)) for p, why in found if any(s in str(why) for s in signs))[:200]
