"""An app that has work done for its panes: in thread workers, and by commands in children."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from textual.app import App, ScreenStackError
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.worker import Worker, WorkerState

from . import tmux
from .background import Background, Done, Work
from .messages import Performed
from .performing import Outcome
from .place import Place
from .render import clean
from .screens.dialogs import Reader, labelled

GONE = (NoMatches, NoScreen, ScreenStackError)  # what a handler meets when the screen is gone
WORKERS = 64  # at once; lists, logs and jobs are watched by some of them as long as it runs


class ActingApp(App[int]):
    """Starts work and tells what became of it."""

    place: Place
    background: Background
    _over = False

    def say(self, text: str) -> None:
        """Say something in the status line."""
        raise NotImplementedError

    def make_room(self) -> None:
        """Have threads for every worker: by default there are few, and some never come back."""
        threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="worker")
        asyncio.get_running_loop().set_default_executor(threads)

    async def _shutdown(self) -> None:
        self._over = True
        self.background.end()
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        """What workers still found while the screen is taken down need not be shown any more."""
        if not (self._over and isinstance(error, GONE)):
            super()._handle_exception(error)

    def work(self, group: str, work: Work) -> None:
        """Do it in a thread worker; what it raises is told in a dialog that names its log."""
        self.run_worker(work, name=group, group=group, thread=True, exit_on_error=False)

    def copy_to_clipboard(self, text: str) -> None:
        """By OSC 52, and in tmux by its own command too."""
        super().copy_to_clipboard(text)
        if tmux.inside():
            self.work("copy", partial(self._copy_to_tmux, text))

    def _copy_to_tmux(self, text: str) -> None:
        with self.background.held():
            tmux.copy(text, self.background.notice)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A worker that failed is told in a dialog that names its log."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        where = self.background.record(event.worker.name, error)
        facts = [("what", event.worker.name), ("error", clean(str(error)) or type(error).__name__)]
        body = labelled([*facts, ("its log", clean(where))])
        self.push_screen(Reader("Something in the background failed", body))

    def write(self, path: Path, text: str) -> None:
        """Write a file in a worker, which says what became of it."""
        if self.place.read_only:
            self.say("--read-only: nothing is written")
        else:
            self.background.write(path, text)

    def perform(self, words: Sequence[str], done: Done | None = None) -> None:
        """Do what `rlhf-tui WORDS` does, in a child; `done` gets the outcome, in the event loop.

        Without `done` a failure is told in a dialog.
        """
        self.background.perform(words, done or self._tell)

    def on_performed(self, message: Performed) -> None:
        """An action is over: the list may be another, and whoever asked is told."""
        message.done(message.outcome)

    def _tell(self, outcome: Outcome) -> None:
        what = clean(" ".join(outcome.words))
        if outcome.failed:
            facts = [("what", what), ("why", clean(outcome.message)), ("mend", clean(outcome.fix))]
            self.push_screen(Reader("not done", labelled([f for f in facts if f[1]])))
        elif outcome.refused:
            facts = [("what", what), *(("refused", one) for one in outcome.refused)]
            self.push_screen(Reader("done, but not all", labelled([*facts, ("done", "the rest")])))
        else:
            self.say(f"done: {what}")
