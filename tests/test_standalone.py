"""The exported folder works by itself: nothing of ours importable but what lies in it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixture.export import export
from fixture.layout import SHIPPED
from rlhf.runlog import read_json

# refuses every module that is neither the standard library's, a permitted package's nor the task's
GUARD = """
import sys, sysconfig
sys.path[:] = [p for p in sys.path if p != {root!r}]
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("__editable__")
                    and "__editable__" not in getattr(f, "__module__", "")]
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in ("fixture", "grader", "tui", "sessions", "click", "rich", "textual"):
            raise ImportError(name + " must not be needed")
sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "task"
    export(SHIPPED, folder)
    return folder


def run(
    task: Path, tmp_path: Path, *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).resolve().parents[1])
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site" / "sitecustomize.py").write_text(GUARD.format(root=root))
    env = {key: value for key, value in os.environ.items() if key not in ("TASK", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=task,
        env={**env, "TASK": str(task), "PYTHONPATH": str(tmp_path / "site"), **more},
        capture_output=True,
        text=True,
    )


def test_the_library_is_the_folder_s_own(task: Path, tmp_path: Path) -> None:
    done = run(task, tmp_path, "-c", "import rlhf.train_rl; print(rlhf.train_rl.__file__)")
    assert done.stdout.strip() == str(task / "rlhf" / "train_rl.py"), done.stderr
    refused = run(task, tmp_path, "-c", "import fixture")
    assert refused.returncode != 0


def test_training_runs(task: Path, tmp_path: Path) -> None:
    arguments = ["-m", "rlhf.train_rl", "--config", "configs/default.json"]
    out = str(tmp_path / "out")
    done = run(task, tmp_path, *arguments, "--out", out, "--override", "steps=3")
    assert done.returncode == 0, done.stderr
    assert read_json(f"{out}/run_config.json")["policy_ref"] == f"{task}/policy"


def test_dev_eval_reproduces_the_stored_numbers(task: Path, tmp_path: Path) -> None:
    done = run(task, tmp_path, "eval/dev_eval.py", "--policy", "runs/default-s800")
    assert done.returncode == 0, done.stderr
    fresh, stored = json.loads(done.stdout), read_json(task / "runs/default-s800/dev_eval.json")
    assert fresh.keys() == stored.keys()
    for key, value in stored.items():
        if not isinstance(value, str):
            # digit for digit on the machine that built it; elsewhere rounding may flip a token
            assert fresh[key] == pytest.approx(value, abs=2e-2)


def test_dev_eval_knows_its_folder_when_task_is_empty(task: Path, tmp_path: Path) -> None:
    arguments = ("--policy", "policy", "--prompts", "data/gold_calib.jsonl")
    done = run(task, tmp_path, "eval/dev_eval.py", *arguments, TASK="")
    assert done.returncode == 0, done.stderr


def test_best_of_n_runs(task: Path, tmp_path: Path) -> None:
    done = run(task, tmp_path, "-m", "rlhf.bon", "--policy", "policy", "--n", "4", "--limit", "5")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n"] == 4


def test_the_core_alone_is_enough(tmp_path: Path) -> None:
    """Only the package's folder, copied to an empty place."""
    from fixture.export import exported_modules

    (tmp_path / "bare" / "rlhf").mkdir(parents=True)
    for module in exported_modules():
        shutil.copy(module, tmp_path / "bare" / "rlhf")
    done = run(tmp_path / "bare", tmp_path, "-m", "rlhf.train_rl", "--help")
    assert done.returncode == 0 and "--override" in done.stdout
