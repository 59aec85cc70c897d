"""Nothing that a test started outlives the test session, whatever ends that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from leftovers import MARK
from toy_lab import eventually

from sessions.identity import identify

# A test that starts what no TERM ends, in a session of its own, and goes on.
HANGS = """
import pathlib, subprocess, sys, time
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); "
STUBBORN += "print(1, flush=True); time.sleep(120)"
def test_that_hangs():
    started = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True
    )
    started.stdout.readline()
    path = pathlib.Path(__file__).with_name("pid")
    path.with_suffix(".new").write_text(str(started.pid))
    path.with_suffix(".new").rename(path)
    time.sleep(120)
"""


@pytest.mark.parametrize("workers", ["0", "1"], ids=["alone", "xdist"])
@pytest.mark.parametrize("how", ["ctrl+c", "kill"])
def test_what_a_test_started_ends_with_the_session(tmp_path: Path, how: str, workers: str) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    tests = f"{ROOT}:{ROOT / 'tests'}:{ROOT / 'tests' / 'bench'}"
    ours = {k: v for k, v in os.environ.items() if k != MARK and not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-n", workers, "test_hangs.py"]
    with open(tmp_path / "said", "wb") as said:
        session = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=ours | {"PYTHONPATH": tests},
            stdout=said,
            stderr=said,
            process_group=0,
        )
    started = int(eventually((tmp_path / "pid").exists) and (tmp_path / "pid").read_text())
    assert identify(started)
    if how == "kill":
        session.kill()
    else:
        os.killpg(session.pid, signal.SIGINT)
    session.wait(60)
    assert eventually(lambda: identify(started) is None)
