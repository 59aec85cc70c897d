"""Everything the dashboard does beside its event loop, and how all of it ends.

Nothing here touches a widget: what is found is posted, and the app's handlers change the state.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sessions.evaluation_child import END_S

from .exits import CommandError
from .job_rows import watch_jobs
from .messages import (
    CannotList,
    CurvesChanged,
    JobsChanged,
    Measuring,
    Notice,
    Performed,
    RunsChanged,
)
from .performing import Outcome, perform
from .pollers import follow_logs, measure, watch_runs, write_text
from .render import clean

if TYPE_CHECKING:
    from .place import Place

Work = Callable[[], Any]
Done = Callable[[Outcome], Any]


class Background:
    """The workers of one dashboard. `work(group, job)` runs a job in a thread worker."""

    def __init__(
        self, place: "Place", post: Callable[[Any], Any], work: Callable[[str, Work], Any]
    ) -> None:
        self._place, self._post_message, self._work = place, post, work
        self.stopping = self._stop = threading.Event()
        self._wake_list, self._wake_logs = threading.Event(), threading.Event()
        self._wake_jobs = threading.Event()
        self._followed: Mapping[str, Path] = {}
        self._held = 0  # blocks in which a child is at work
        self._free = threading.Condition()

    def start(self) -> None:
        """Begin to list the runs and to follow the logs that are wanted."""
        self._work("list", self._list)
        self._work("follow", self._follow)
        self._work("jobs", self._jobs)

    def end(self) -> None:
        """Ask every worker to end; a child that measures is ended by its worker."""
        self._stop.set()
        self._wake_list.set()
        self._wake_logs.set()
        self._wake_jobs.set()

    def end_now(self) -> None:
        """End without an event loop: back only when no child is left behind."""
        self.end()
        with self._free:
            self._free.wait_for(lambda: not self._held, 2 * END_S)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block of a worker that ends its own child: `end_now` waits for it."""
        with self._free:
            self._held += 1
        try:
            yield
        finally:
            with self._free:
                self._held -= 1
                self._free.notify_all()

    def follow(self, logs: Mapping[str, Path]) -> None:
        """Follow these logs, by run id, and no others; one that was not followed is told whole."""
        known = self._followed  # what stays is the same object, what is new another one
        self._followed = {
            key: known[key] if known.get(key) == path else Path(path) for key, path in logs.items()
        }
        self._wake_logs.set()

    def measure(self, folders: Sequence[tuple[str, Path]]) -> None:
        """Evaluate these (name, folder), one at a time, in a child process."""
        self._work("measure", partial(self._measure, folders))

    def perform(self, words: Sequence[str], done: Done) -> None:
        """Do what a command does; `done` gets what became of it."""

        def work() -> None:
            outcome = perform(self._place, words)
            self._wake_list.set()
            self._wake_jobs.set()
            self._post(Performed(outcome, done))

        self._work("perform", work)

    def write(self, path: Path, text: str) -> None:
        """Write a file, and say what became of it."""
        self._work("write", partial(self._write, path, text))

    def notice(self, text: str) -> None:
        """Say something in the status line, from any thread."""
        self._post(Notice(clean(text)))

    def _post(self, message: Any) -> None:
        if not self._stop.is_set():
            self._post_message(message)

    def _list(self) -> None:
        watch_runs(
            self._place.catalogue(),
            lambda listing: self._post(RunsChanged(listing)),
            lambda reason: self._post(CannotList(reason)),
            self._stop,
            self._wake_list,
        )

    def _follow(self) -> None:
        follow_logs(
            lambda: self._followed,
            lambda curves: self._post(CurvesChanged(curves)),
            self._stop,
            self._wake_logs,
        )

    def _jobs(self) -> None:
        watch_jobs(
            self._place.workspace,
            lambda jobs, paused: self._post(JobsChanged(jobs, paused)),
            self._stop,
            self._wake_jobs,
            starts=not self._place.read_only,
        )

    def _measure(self, folders: Sequence[tuple[str, Path]]) -> None:
        def say(text: str) -> None:
            self._post(Measuring(text))
            if not text or text.endswith(")"):  # one is done, and the next begins
                self._wake_list.set()

        from sessions.runfiles import has_policy

        self.evaluate([pair for pair in folders if has_policy(pair[1])], say)

    def evaluate(self, folders: Sequence[tuple[str, Path]], say: Callable[[str], None]) -> None:
        """Evaluate these (name, folder); tells what could not be, and why. For a worker."""
        try:
            with self.held():
                failures = measure(self._place.evaluations(), folders, say, self._stop)
        except CommandError as error:
            failures = [str(error)]
            say("")
        if failures:
            self.notice(f"not measured: {failures[0]}")

    def _write(self, path: Path, text: str) -> None:
        try:
            said = write_text(path, text)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            said = f"not written: {path}: {reason}"
        self._post(Notice(clean(said)))

    def record(self, name: str, error: BaseException) -> str:
        """Write a worker's failure to the dashboard's log; where that is."""
        from sessions.paths import Workspace

        log = Workspace(self._place.workspace).dashboard_log
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {name}\n")
                traceback.print_exception(error, file=file)
        except OSError as failed:
            return f"could not be written: {failed.strerror}"
        return str(log)
