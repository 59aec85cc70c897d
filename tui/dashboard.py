"""Starting the dashboard: is there a terminal, and is the task whole?"""

import os
import sys
from typing import TYPE_CHECKING

from .exits import CommandError, Exit

if TYPE_CHECKING:
    from .place import Place


def run_dashboard(place: "Place") -> int:
    """Run the dashboard; its exit code. Raises CommandError without a terminal or a task."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if (
        not all(stream and stream.isatty() for stream in streams)
        or os.environ.get("TERM") == "dumb"
    ):
        fix = "in scripts use a command, such as rlhf-tui runs --json"
        raise CommandError(Exit.USAGE, "the dashboard needs a terminal", fix=fix)
    place.checked_task()  # a broken task folder is said before the screen is taken
    tune_textual()
    from .app import ConsoleApp
    from .looks import named_look
    from .render import clean

    app = ConsoleApp(place, named_look())
    code = app.run() or app.return_code or Exit.OK
    if code == Exit.OK and (living := app.state.living()):
        print(f"{len(living)} run(s) go on without the dashboard: {clean(', '.join(living))}")
    return code


def tune_textual() -> None:
    """Settings that Textual reads from the environment when it is imported."""
    # it paints only what changed, at the next of so many ticks a second: a key waits for one
    os.environ.setdefault("TEXTUAL_FPS", "200")
    # a terminal here sends an escape sequence in one piece; over a network it may come in two
    os.environ.setdefault("ESCDELAY", "100" if os.environ.get("SSH_CONNECTION") else "15")
