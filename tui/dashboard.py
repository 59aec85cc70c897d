"""Starting the dashboard: is there a terminal, and is the task whole?"""

import os
import sys
from typing import TYPE_CHECKING

from .exits import CommandError, Exit

if TYPE_CHECKING:
    from .place import Place


def run_dashboard(place: "Place") -> int:
    """Run the dashboard; its exit code. Raises CommandError without a terminal or a task."""
    _check_terminal()
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


def _check_terminal() -> None:
    fix = "in scripts use a command, such as rlhf-tui runs --json"
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        bare = "SSH_CONNECTION" in os.environ and "SSH_TTY" not in os.environ
        fix = f"ssh -t gives one; {fix}" if bare else fix
        raise CommandError(Exit.USAGE, "the dashboard needs a terminal", fix=fix)
    if os.environ.get("TERM") == "dumb":
        raise CommandError(Exit.USAGE, "the dashboard needs a terminal, not TERM=dumb", fix=fix)


def tune_textual() -> None:
    """Settings that Textual reads from the environment when it is imported."""
    # it paints only what changed, at the next of so many ticks a second: a key waits for one
    os.environ.setdefault("TEXTUAL_FPS", "500")
    # a terminal here sends an escape sequence in one piece; over a network it may come in two
    os.environ.setdefault("ESCDELAY", "100" if os.environ.get("SSH_CONNECTION") else "8")
