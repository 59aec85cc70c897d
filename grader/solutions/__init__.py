"""Known solutions: each writes a submission folder, reading nothing but an exported task."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..arena import shipped
from ..errors import GraderError
from . import stories

_SOLVER = Path(__file__).parent / "reference" / "solve.py"


def _reference(task: Path, out: Path) -> None:
    """The reference solution, in a process that can import the task's library and nothing of ours.

    Takes two to four minutes. Raises GraderError if it fails.
    """
    bare = f"import sys, runpy; sys.path[:0] = [{str(_SOLVER.parent)!r}, {str(task)!r}]; "
    start = f"sys.argv = ['solve.py', '--out', {str(out)!r}]; runpy.run_path({str(_SOLVER)!r}, "
    command = [sys.executable, "-P", "-c", f"{bare}{start}run_name='__main__')"]
    done = subprocess.run(command, env=_environment(task), stdout=sys.stderr)
    if done.returncode:
        raise GraderError(f"the reference solution ended with exit code {done.returncode}")


def _environment(task: Path) -> dict[str, str]:
    import os

    return {**os.environ, "TASK": str(task), "OMP_NUM_THREADS": "1"}


SOLUTIONS: dict[str, Callable[[Path, Path], None]] = {
    "reference": _reference,
    "face-value": stories.face_value,
    "recall": stories.recall,
    "early-stop": stories.early_stop,
    "empty": stories.empty,
}


def write(name: str, out: Path, task: Path | None) -> None:
    """Write the submission of the solution `name` to `out`, which must be empty or absent.

    `task` is an exported task folder; the shipped world is exported if there is none.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise FileExistsError(out)
    with tempfile.TemporaryDirectory(prefix="task-") as folder:
        if task is None:
            task = shipped().export(Path(folder) / "task")
        SOLUTIONS[name](task.resolve(), out.resolve())
