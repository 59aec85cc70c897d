"""What the package's commands share: narration on stderr and one exit code for each kind of end."""

import sys
from collections.abc import Callable
from enum import IntEnum

from .errors import CheckpointError, ConfigError, DataError, RlhfError


class Exit(IntEnum):
    OK = 0
    FAILED = 1  # it ran, and the answer is no
    USAGE = 2  # bad arguments or settings
    INVALID = 3  # an input file does not hold what it must
    CANNOT_RUN = 4  # the machine refused: disk, permission
    INTERRUPTED = 130
    TERMINATED = 143


def narrate(line: str) -> None:
    """One line for the person watching."""
    print(line, file=sys.stderr, flush=True)


def run(command: Callable[[], object]) -> int:
    """Run a command; its return value if that is an Exit, else OK. Errors become one line."""
    try:
        result = command()
        return result if isinstance(result, Exit) else Exit.OK
    except ConfigError as error:
        return _complain(error, Exit.USAGE)
    except (DataError, CheckpointError) as error:
        return _complain(error, Exit.INVALID)
    except RlhfError as error:
        return _complain(error, Exit.FAILED)
    except BrokenPipeError:
        return Exit.CANNOT_RUN
    except OSError as error:
        return _complain(error, Exit.CANNOT_RUN)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _complain(error: Exception, code: Exit) -> Exit:
    narrate(f"error: {error}")
    return code
