"""Running a wrapper on samples of the reference, in a child, before anything is launched."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .child import THREAD_VARIABLES
from .errors import InputError, SessionError
from .evaluation_child import INVALID, scratch_folder
from .plan import read_wrapper
from .runfiles import read_object
from .supervise import python_environment

SAMPLES = 200  # a family
LAST_WORDS = 1 << 16  # bytes of what the child said, enough for its last line


def check_wrapper(task: Path, file: Path, n: int = SAMPLES, seed: int = 0) -> dict[str, Any]:
    """What the wrapper does to the reward, per family; see rlhf.analysis.wrapper_check.

    Takes some seconds. Raises InputError if the wrapper cannot be used, SessionError if the
    child cannot run.
    """
    path = wrapper_at(file)
    command = [sys.executable, "-P", "-m", "rlhf.analysis.wrapper_check", str(path)]
    command += ["--n", str(n), "--seed", str(seed)]
    threads = dict.fromkeys(THREAD_VARIABLES, "1")
    env = {**python_environment(), **threads, "TASK": str(task)}
    with scratch_folder() as scratch:
        code, words = _run([*command, "--out", str(scratch / "out.json")], env)
        found = read_object(scratch / "out.json", [])
    if code == INVALID:
        raise InputError(words, str(path))
    if code:
        raise SessionError(f"the check ended with code {code}: {words}", str(path))
    if found is None:
        raise InputError(f"wrapper {path} ended the process it was called in", str(path))
    return found


def wrapper_at(file: Path) -> Path:
    """Where a wrapper lies, if it can be read and defines transform(). Raises InputError."""
    path = file.expanduser().absolute()
    if not path.is_file():
        why = "no regular file" if path.exists() else "missing"
        raise InputError(f"wrapper {path} is {why}", str(path))
    read_wrapper(path)
    return path


def _run(command: list[str], env: dict[str, str]) -> tuple[int, str]:
    """What the child exits with, and its last words. Nothing that it starts outlives it."""
    try:
        with tempfile.TemporaryFile() as said:
            code = _wait(command, env, said)
            said.seek(max(0, said.tell() - LAST_WORDS))
            words = said.read(LAST_WORDS).decode(errors="replace").strip()
    except OSError as error:
        raise SessionError(f"the check cannot start: {os.strerror(error.errno or 0)}") from error
    return code, (words.splitlines() or ["it said nothing"])[-1].removeprefix("error: ")


def _wait(command: list[str], env: dict[str, str], said: IO[bytes]) -> int:
    nowhere = subprocess.DEVNULL
    child = subprocess.Popen(
        command, env=env, stdin=nowhere, stdout=nowhere, stderr=said, start_new_session=True
    )
    try:
        return child.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
