"""A grader that is killed leaves nothing running."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_field import LINUX_ONLY, ROOT, Field
from toy_lab import eventually

from grader.sandbox import level as levels

pytestmark = LINUX_ONLY

_GRADER = """
import json, sys
from pathlib import Path
from grader.sandbox.allow import make_view
from grader.sandbox import level, launch
from grader.sandbox.limits import Limits
work = Path(sys.argv[1])
layers = level.layers() if sys.argv[2] == "layers" else level.Layers((), 0, False, None)
see = {"task": work / "task", "submission": work / "submission"}
job = launch.Job(work / "job", ("diagnostic.py",), see, Limits())
print("up", flush=True)
launch.Launcher(make_view(work / "python"), layers).run(job)
"""


def _processes_with(text: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if text.encode() in Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
    return found


@pytest.mark.xdist_group("grader processes")  # they would count each other's
@pytest.mark.parametrize("layers", ["layers", "none"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_grader_killed_leaves_nothing_running(field: Field, layers: str, end: int) -> None:
    """ids: a grader killed with -9 (nothing left running)"""
    (field.work / "submission" / "diagnostic.py").write_text(
        "import os, time\nfor _ in range(3): os.fork()\ntime.sleep(600)\n"
    )
    command = [sys.executable, "-c", _GRADER, str(field.work), layers]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    grader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    assert grader.stdout is not None
    assert grader.stdout.readline() == b"up\n"
    marks = {"layers": "SUB=/workspace/submission", "none": f"SUB={field.work}"}
    mark = marks["layers" if layers == "layers" and levels.layers().bwrap else "none"]
    eventually(lambda: len(_processes_with(mark)) >= 8)
    grader.send_signal(end)
    with grader:
        pass
    eventually(lambda: not _processes_with(mark))
