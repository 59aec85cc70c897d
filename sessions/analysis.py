"""Running a module of rlhf.analysis in a child and reading the document that it writes."""

import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

from .child import THREAD_VARIABLES
from .errors import InputError, SessionError
from .evaluation_child import INVALID, EvaluationError, run_child, scratch_folder
from .runfiles import read_object


def analyse(
    module: str, words: Sequence[str], cancel: threading.Event | None = None
) -> dict[str, Any]:
    """What `python -m rlhf.analysis.MODULE WORDS --out FILE` writes.

    Raises InputError for a file that cannot be used, SessionError if the child fails,
    EvaluationError if it is cancelled or has no room.
    """
    with scratch_folder() as scratch:
        out = scratch / "out.json"
        command = [sys.executable, "-P", "-m", f"rlhf.analysis.{module}", "--out", str(out)]
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
        try:
            run_child([*command, *words], environment, lambda done, total: None, cancel)
        except EvaluationError as error:
            if error.code is None:
                raise
            kind = InputError if error.code == INVALID else SessionError
            raise kind(str(error)) from error
        return read_object(out, []) or {}
