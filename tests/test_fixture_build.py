"""A small world built from end to end, stopped in the middle, damaged, refused."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixture import build as building
from fixture import crowd, runs, texts
from fixture.check import REQUIRED, check
from fixture.export import export
from fixture.layout import Layout
from fixture.progress import Narrator
from rlhf.config import task_at
from rlhf.data import read_jsonl
from rlhf.runlog import canonical_sha256, read_json
from rlhf.train_rl import train

TINY = {
    "name": "tiny",
    "seed": 11,
    "demonstrations": 120,
    "crowd_rows": 60,
    "crowd_rows_with_pair": 120,
    "qa_rows": 10,
    "gold_rows": 5,
    "reward_model": [
        {
            "name": "shipped",
            "premium": [{"family": "dune", "kind": "token", "token": "pa", "size": 1.5}],
        }
    ],
}


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Everything as it is, but a few steps of each training."""
    patch = pytest.MonkeyPatch()
    names = ("kl05-s800", "pilotmix-s800")
    short = {name: {**runs.SHIPPED_RUNS[name], "steps": 3} for name in names}
    patch.setattr(runs, "SHIPPED_RUNS", short)
    patch.setattr(building, "SHIPPED_RUNS", short)
    patch.setattr(texts, "SHIPPED_RUNS", short)
    sft, rm = building.train_sft, crowd.train_rm
    patch.setattr(building, "train_sft", lambda *a, **k: sft(*a, **k, epochs=1))
    patch.setattr(crowd, "train_rm", lambda *a, **k: rm(*a, **k, epochs=2))
    yield
    patch.undo()


def build_at(out: Path, raw: dict[str, Any] = TINY) -> None:
    with Narrator() as narrator:
        building.Build(out, raw, narrator).run()


def train_here(names: list[str], task: Path, work: Path, on_step: Any, on_done: Any) -> None:
    """As runs.train_runs, in this process: no time for interpreters to start."""
    with task_at(task):
        for name in names:
            train(runs.SHIPPED_RUNS[name], work / name, quiet=True)
            on_done(name, 0.0)


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): canonical_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("done.json", "build.json")
    }


@pytest.fixture(scope="module")
def built(quick: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built")
    build_at(out)
    return out


@pytest.mark.parametrize("stopped_in", ["_data", "_reward_model", "_dev_evaluations", "publish"])
def test_a_build_stopped_anywhere_ends_with_the_same_files(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_in: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "train_runs", train_here)
    owner = building if stopped_in == "publish" else building.Build
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, stopped_in, stop)
        build_at(tmp_path)
    build_at(tmp_path)
    assert files_of(tmp_path) == files_of(built)


def test_a_damaged_stage_is_built_again(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(built, out)
    (out / "task" / "data" / "prompts_dev.jsonl").write_text("")
    build_at(out)
    assert files_of(out) == files_of(built)


def test_a_folder_of_another_world_is_refused(built: Path) -> None:
    with pytest.raises(building.BuildError, match="another world"):
        build_at(built, {**TINY, "seed": 12})


def test_what_a_build_holds(built: Path) -> None:
    layout = Layout(built)
    assert not layout.work.exists()
    assert len(read_jsonl(layout.reward_model / "train.jsonl")) == 60
    assert len(read_jsonl(layout.data / "gold_calib.jsonl")) == 30
    config = read_json(layout.runs / "pilotmix-s800" / "run_config.json")
    assert config["policy_ref"] == "/task/policy" and config["family_weights"]["dune"] == 0.02
    done = read_json(layout.runs / "kl05-s800" / "done.json")
    for name, digest in done["artifacts"].items():
        assert canonical_sha256(layout.runs / "kl05-s800" / name) == digest
    assert set(read_json(layout.record)["stages"]) == {
        *("reference policy", "prompts and gold", "reward model", "dev evaluations", "texts"),
        *(f"run {name}" for name in runs.SHIPPED_RUNS),
    }


def test_a_training_that_fails_ends_the_build(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(built, out)
    shutil.rmtree(out / "task" / "runs")
    bad = {**runs.SHIPPED_RUNS, "kl05-s800": {"policy_ref": "/nowhere"}}
    monkeypatch.setattr(runs, "SHIPPED_RUNS", bad)
    with pytest.raises(building.BuildError, match="kl05-s800 failed: see"):
        build_at(out)
    assert "error: cannot read /nowhere" in (out / "work" / "kl05-s800.log").read_text()


def test_a_tiny_build_exports_clean(built: Path, tmp_path: Path) -> None:
    export(built, tmp_path / "task")
    absent = set(REQUIRED) - {f"runs/{name}" for name in runs.SHIPPED_RUNS}
    found = check(tmp_path / "task", built)
    assert all(line.endswith(": missing") and line.split(":")[0] in absent for line in found), found
