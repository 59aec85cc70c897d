"""What can go wrong here, as one tree; each branch has its exit code.

SessionError          4  it could not run (disk, lock, a workspace that cannot be written)
├── UsageError        2  no such run, a bad setting, an action that does not fit the state
├── InputError        3  an input file is missing, damaged or has changed
├── EvaluationError   4  a measuring child failed; 3 if what it was given is not valid
└── AnswerNo          1  it ran, and the answer is no (still alive after KILL, not the same)

Every message is one line that names the thing; `fix` says what mends it.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager


class SessionError(Exception):
    """It could not run. `path` and `fix` go into the JSON form of the error."""

    exit_code = 4

    def __init__(self, message: str, path: str | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.fix = fix


class UsageError(SessionError):
    """No such run, a bad setting, or an action that does not fit the run's state."""

    exit_code = 2


class InputError(SessionError):
    """An input file is missing, damaged, or no longer what it was."""

    exit_code = 3


class AnswerNo(SessionError):
    """It ran, and the answer is no."""

    exit_code = 1


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_ELSEWHERE = "choose a workspace that can be written: --workspace DIR"
_IN_THE_WAY = "a file is where a folder should be: move it, or choose another --workspace DIR"
_FIXES = {
    errno.ENOSPC: "free some space (rlhf-tui prune) and try again",
    errno.EDQUOT: "free some of your quota (rlhf-tui prune) and try again",
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _ELSEWHERE),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), _IN_THE_WAY),
}


def no_room(error: SessionError) -> bool:
    """Whether it could not be written because the disk, or one's part of it, is full."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_ROOM


@contextmanager
def writing(what: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError of the block into a SessionError that names `what` and the fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        path, fix = os.fspath(what), _FIXES.get(error.errno or 0)
        raise SessionError(f"cannot write {path}: {reason}", path, fix) from error
