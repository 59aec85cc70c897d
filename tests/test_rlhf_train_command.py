"""The training command: overrides, refusals, errors of one line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TASK
from short_runs import QUICK, receipt

from rlhf import runlog
from rlhf.errors import ConfigError
from rlhf.train_rl import main, train


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rlhf.train_rl", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def test_command_overrides_and_refuses_a_used_folder(tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps(QUICK))
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]
    first = run(*arguments, "--override", "kl_coef=0.5", "--override", "steps=4")
    assert first.returncode == 0 and first.stdout == "" and "step 4/4" in first.stderr
    assert runlog.read_json(tmp_path / "out" / "run_config.json")["kl_coef"] == 0.5
    again = run(*arguments)
    assert again.returncode == 2 and "--resume" in again.stderr


@pytest.mark.parametrize("name", ["policy", "reward_model"])
def test_a_folder_with_a_model_in_it_is_no_place_for_a_run(tmp_path: Path, name: str) -> None:
    """The folder of a model is easily given for --out; nothing of it may be lost."""
    shutil.copytree(TASK / name, tmp_path / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    (tmp_path / "cfg.json").write_text(json.dumps({**QUICK, "steps": 1}))
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / name)]
    assert main(arguments) == main([*arguments, "--resume"]) == 2
    key = {"policy": "policy_ref"}.get(name, name)
    with pytest.raises(ConfigError, match=f"is this run's {key}"):
        train({**QUICK, key: tmp_path / name}, tmp_path / name, quiet=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} == before


@pytest.mark.parametrize(
    ("content", "override", "code", "named"),
    [
        pytest.param('{"stepz": 3}', None, 2, "'steps'", id="unknown key"),
        pytest.param("{", None, 2, "not valid JSON", id="no JSON"),
        pytest.param("[]", None, 2, "JSON object", id="a list"),
        pytest.param("{}", "kl_coef=high", 2, "kl_coef", id="override of the wrong type"),
        pytest.param("{}", "policy_ref=/nowhere", 3, "/nowhere", id="missing policy"),
    ],
)
def test_command_errors_are_one_line(
    tmp_path: Path,
    content: str,
    override: str | None,
    code: int,
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "cfg.json").write_text(content)
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]
    assert main([*arguments, *(["--override", override] if override else [])]) == code
    captured = capsys.readouterr()
    assert named in captured.err and captured.err.count("\n") == 1 and not captured.out
    assert not (tmp_path / "out").exists()


def test_a_prepared_folder_learns_why_its_run_could_not_begin(tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps({**QUICK, "reward_model": "/nowhere"}))
    (tmp_path / "out").mkdir()
    assert main(["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]) == 3
    done = receipt(tmp_path / "out")
    assert done["outcome"] == "failed" and "/nowhere" in done["reason"] and done["steps"] == 0
