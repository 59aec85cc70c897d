"""The evaluating child: its progress passed on, its whole session ended however one leaves."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .errors import InputError, SessionError
from .task import Task

INVALID = 3  # the child's exit code for an input that does not hold what it must
MEND = "give one that is whole and of this task's vocabulary"
END_S = 3.0  # how long a child may take to end when asked, before it is killed

Progress = Callable[[int, int], None]


class EvaluationError(SessionError):
    """The child could not measure a checkpoint; the message is its last line.

    `code` is what it exited with, if it did.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message, fix=MEND if code == INVALID else None)
        self.code = code
        self.exit_code = (InputError if code == INVALID else SessionError).exit_code


class Sampling(NamedTuple):
    """Which of a task's prompts are answered, how often, from which seed."""

    per_family: int  # the first prompts of each family
    n: int  # samples a prompt
    seed: int


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for what a child writes. Raises EvaluationError if there is no room."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="rlhf-tui-")
    except OSError as error:
        raise EvaluationError(f"no temporary folder can be made: {error.strerror}") from error
    with scratch as name:
        yield Path(name)


def sampling_command(
    module: str, task: Task, policy_dir: Path, how: Sampling, out: Path
) -> list[str]:
    """The command that samples a checkpoint on the task's prompts and writes `out`."""
    options = {
        "--policy": policy_dir,
        "--policy-ref": task.policy,
        "--reward-model": task.reward_model,
        "--prompts": task.prompts,
        "--per-family": how.per_family,
        "--n": how.n,
        "--seed": how.seed,
        "--out": out,
    }
    flat = [str(item) for pair in options.items() for item in pair]
    return [sys.executable, "-P", "-m", module, *flat]


def task_environment(task: Task) -> dict[str, str]:
    """A child's environment: ours, this task, one thread."""
    return {**os.environ, "TASK": str(task.root), "OMP_NUM_THREADS": "1"}


def run_child(
    command: list[str],
    environment: dict[str, str],
    progress: Progress,
    cancel: threading.Event | None,
) -> None:
    """Run to the end, passing on its progress. Raises EvaluationError with its last words."""
    words = ""
    with _child(command, environment, cancel) as child:
        assert child.stderr is not None
        for line in child.stderr:
            step = _progress_of(line)
            if step:
                progress(*step)
            elif line.strip():
                words = line.strip().removeprefix("error: ")
        code = child.wait()
    if cancel is not None and cancel.is_set():
        raise EvaluationError("the evaluation was cancelled")
    if code:
        raise EvaluationError(words[:300] or f"the evaluation ended with code {code}", code)


def _progress_of(line: str) -> tuple[int, int] | None:
    """(done, total) of a line `progress K/N`."""
    word, _, rest = line.strip().partition(" ")
    done, slash, total = rest.partition("/")
    if word == "progress" and slash and done.isdigit() and total.isdigit():
        return int(done), int(total)
    return None


@contextmanager
def _child(
    command: list[str], environment: dict[str, str], cancel: threading.Event | None
) -> Iterator[subprocess.Popen[str]]:
    """The child in a session of its own, gone when the block is left, however it is left."""
    child = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    left = threading.Event()
    watcher = threading.Thread(target=_end_on, args=(child, cancel, left), daemon=True)
    if cancel is not None:
        watcher.start()
    try:
        yield child
    finally:
        left.set()
        _end(child)
        assert child.stderr is not None
        child.stderr.close()


def _end_on(child: "subprocess.Popen[str]", cancel: threading.Event, left: threading.Event) -> None:
    while not left.is_set():
        if cancel.wait(0.1):
            _end(child)
            return


def _end(child: "subprocess.Popen[str]") -> None:
    """TERM, wait, KILL: the child's whole process group."""
    for number_, patience in ((15, END_S), (9, None)):
        if child.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number_)
        with suppress(subprocess.TimeoutExpired):
            child.wait(patience)
