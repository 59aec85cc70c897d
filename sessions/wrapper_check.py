"""Running a wrapper on samples of the reference, in a child, before anything is launched."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .child import THREAD_VARIABLES
from .errors import InputError, SessionError
from .plan import read_wrapper
from .supervise import python_environment

SAMPLES = 200  # a family
INVALID = 3  # the child's exit code for a wrapper that cannot be used


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
    done = _run(command, env)
    words = (done.stderr.strip().splitlines() or ["it said nothing"])[-1].removeprefix("error: ")
    if done.returncode == INVALID:
        raise InputError(words, str(path))
    if done.returncode:
        raise SessionError(f"the check ended with code {done.returncode}: {words}", str(path))
    # what the wrapper itself prints may stand before the report
    found, _ = json.JSONDecoder().raw_decode(done.stdout, ("\n" + done.stdout).rindex("\n{\n"))
    return dict(found)


def wrapper_at(file: Path) -> Path:
    """Where a wrapper lies, if it can be read and defines transform(). Raises InputError."""
    path = file.expanduser().absolute()
    if not path.is_file():
        why = "no regular file" if path.exists() else "missing"
        raise InputError(f"wrapper {path} is {why}", str(path))
    read_wrapper(path)
    return path


def _run(command: list[str], env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SessionError(f"the check cannot start: {os.strerror(error.errno or 0)}") from error
