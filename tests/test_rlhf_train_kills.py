"""A training whose disk fills up, or that is killed or told to stop."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from short_runs import QUICK, receipt, same

from rlhf import runfolder
from rlhf.train_rl import train


def test_a_full_disk_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = runfolder.write_tensors, []

    def full(path: Path, tensors: Any) -> None:
        calls.append(path)
        if len(calls) >= 2:
            raise OSError(28, "No space left on device")
        real(path, tensors)

    monkeypatch.setattr(runfolder, "write_tensors", full)
    with pytest.raises(OSError, match="No space"):
        train({**QUICK, "save_every": 3}, tmp_path, quiet=True)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000003"]
    assert receipt(tmp_path)["outcome"] == "failed"
    monkeypatch.setattr(runfolder, "write_tensors", real)
    train({**QUICK, "save_every": 3}, tmp_path, quiet=True, resume=True)
    train({**QUICK, "save_every": 3}, tmp_path / "whole", quiet=True)
    assert same(tmp_path, tmp_path / "whole")


def command(out: Path, *more: str) -> list[str]:
    (out.parent / "cfg.json").write_text(json.dumps({**QUICK, "steps": 400, "save_every": 10}))
    return [
        *(sys.executable, "-m", "rlhf.train_rl", "--config", str(out.parent / "cfg.json")),
        *("--out", str(out), "--quiet", *more),
    ]


def start(out: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(out, *more), cwd=ROOT, stderr=subprocess.PIPE)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    out, cfg = tmp_path / "out", {**QUICK, "steps": 400, "save_every": 10}
    process = start(out)
    wait_for(out / "checkpoints" / "step-000040")
    process.kill()
    process.communicate()
    assert not (out / "done.json").exists()
    train({**cfg, "steps": 60}, tmp_path / "whole", quiet=True)
    train({**cfg, "steps": 60}, out, quiet=True, resume=True)
    assert same(out, tmp_path / "whole")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_a_signal_ends_a_run_with_a_checkpoint(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "out"
    process = start(out)
    wait_for(out / "checkpoints" / "step-000010")
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    done = receipt(out)
    assert done["outcome"] == "stopped" and number.name in done["reason"]
    assert (out / "checkpoints" / f"step-{done['steps']:06d}").is_dir()
    assert errors.count(b"\n") == 1


def test_nohup_is_respected(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(["nohup", *command(out)], cwd=ROOT, stderr=subprocess.PIPE)
    wait_for(out / "checkpoints" / "step-000010")
    process.send_signal(signal.SIGHUP)
    wait_for(out / "checkpoints" / "step-000100")
    process.terminate()
    process.communicate(timeout=60)
    assert "SIGTERM" in receipt(out)["reason"]
