"""What an export holds, and where it may be written."""

from pathlib import Path

import pytest
from conftest import TASK

from fixture import build as building
from fixture.export import export, exported_modules
from fixture.layout import SHIPPED
from rlhf.data import read_jsonl
from rlhf.runlog import LOG_NAME


def test_what_an_export_holds(exported: Path) -> None:
    for log in exported.glob(f"runs/*/{LOG_NAME}"):
        assert "families" not in log.read_text()
        shipped = read_jsonl(TASK / "runs" / log.parent.name / LOG_NAME)
        assert [row["kl"] for row in read_jsonl(log)] == [row["kl"] for row in shipped]
        assert "families" in shipped[0]
    assert not list(exported.rglob("done.json"))
    names = {path.name for path in (exported / "rlhf").iterdir()}
    assert "train_sft.py" not in names and "analysis" not in names
    assert names == {path.name for path in exported_modules()}
    assert str(exported) not in (exported / "runs/default-s800/run_config.json").read_text()


def test_export_refuses_a_used_folder_and_an_unfinished_build(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.txt").write_text("precious")
    with pytest.raises(building.BuildError, match="not empty"):
        export(SHIPPED, tmp_path / "used")
    with pytest.raises(building.BuildError, match="no finished build"):
        export(tmp_path, tmp_path / "new")
    assert (tmp_path / "used" / "mine.txt").read_text() == "precious"
    assert not (tmp_path / "new").exists()


def test_export_into_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    export(SHIPPED, Path("."))
    assert (tmp_path / "here" / "manifest.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
