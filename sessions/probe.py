"""A warm reward model in a child that answers probes one line at a time."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlhf.config import TASK_PREFIX
from rlhf.vocab import CONTENT, FAMILIES, N_ATTR, N_VAL, RESP_LEN, nearest

from .child import THREAD_VARIABLES
from .errors import SessionError
from .evaluation_child import EvaluationError
from .reward_model import reward_model
from .supervise import python_environment
from .task import Task


class Probe:
    """One child over one reward model. `ask` blocks; `close` ends it, whatever it is doing.

    `reward_model` says which: that of the run in `run`, if one is given and it is there.
    """

    def __init__(self, task: Task, run: Path | None = None) -> None:
        self.reward_model = reward_model(task, run)
        command = [sys.executable, "-P", "-m", "rlhf.analysis.probe"]
        command += ["--reward-model", str(self.reward_model.folder)]
        environment = {**python_environment(), **dict.fromkeys(THREAD_VARIABLES, "1")}
        self._lock = threading.Lock()
        self._ready = False
        self._words = "the reward model's process has ended"
        try:
            self._child = subprocess.Popen(
                command,
                env={**environment, "TASK": TASK_PREFIX},  # the path above is not to be moved
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise SessionError(f"cannot start: {os.strerror(error.errno or 0)}") from error

    def ask(self, prompt: str, response: str) -> dict[str, Any]:
        """The answer of rlhf.analysis.probe. Raises SessionError if there is none."""
        with self._lock:
            if not self._ready:
                self._line()
                self._ready = True
            try:
                assert self._child.stdin is not None
                asked = json.dumps({"prompt": prompt, "response": response})
                self._child.stdin.write(asked + "\n")
                self._child.stdin.flush()
            except (OSError, ValueError) as error:
                raise self._ended() from error
            answer = self._line()
        if "error" in answer:
            raise SessionError(str(answer["error"]))
        return answer

    def _line(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        try:
            found = json.loads(self._child.stdout.readline())
        except (OSError, ValueError) as error:
            raise self._ended() from error
        return found if isinstance(found, dict) else {}

    def _ended(self) -> EvaluationError:
        """Why there is no child to answer."""
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._child.wait(30)  # it is ending: its output is closed
            assert self._child.stderr is not None
            said = self._child.stderr.read().strip().splitlines()
            if said:  # there is nothing more to read the next time
                self._words = said[-1].removeprefix("error: ")[:300]
        return EvaluationError(self._words, self._child.returncode)

    def close(self) -> None:
        """End the child and wait for its end."""
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()


def wrong_in(prompt: str, response: str) -> str:
    """What is wrong with a prompt and a response as typed; empty if nothing is."""
    if not prompt.strip():
        return f"prompt: no family yet; it is a family and {N_ATTR} values: dune v0 v1 v2 v3"
    family, *values = [word for word in prompt.split() if word != "<sep>"] or [""]
    known = [f"v{value}" for value in range(N_VAL)]
    if family.strip("<>") not in FAMILIES:
        return f"prompt: no family {family!r:.40}{nearest(family, FAMILIES)}"
    bad = [value for value in values if value not in known]
    if bad or len(values) != N_ATTR:
        what = (
            f"{bad[0]!r:.40} is no value v0..v{N_VAL - 1}" if bad else f"has {len(values)} values"
        )
        return f"prompt: {what}; it is a family and {N_ATTR} values"
    tokens = response.split()
    foreign = [token for token in tokens if token not in CONTENT]
    if foreign:
        return f"response: {foreign[0]!r:.40} is no token{nearest(foreign[0], CONTENT)}"
    if len(tokens) != RESP_LEN:
        return f"response: {len(tokens)} of {RESP_LEN} tokens"
    return ""
