"""Opening files that a stranger may have replaced by something else."""

import os
import stat

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, never through a link.

    Raises OSError if it cannot be opened, ValueError saying what else it is.
    """
    handle = os.open(path, FLAGS)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"has more than {limit} bytes")
    return data
