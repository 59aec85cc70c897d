"""Submission folders made from runs: what is filled in, what is named as empty, whole or not."""

import json
import struct
from pathlib import Path

import pytest
from synthetic import Console, write_run

from sessions.unfilled import still_empty

WEIGHTS = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()


@pytest.fixture(name="console")
def _console(tmp_path: Path) -> Console:
    console = Console(tmp_path)
    for folder in (console.task / "runs").glob("*-s*"):
        (folder / "policy.safetensors").write_bytes(
            struct.pack("<Q", len(WEIGHTS)) + WEIGHTS + b"0000"
        )
    return console


def test_every_field_is_there_what_is_known_filled_in_and_the_empty_ones_named(
    console: Console,
) -> None:
    console.run("decide", "kl002", "hold", "--reason", "collapses")
    place = console.place / "sub"
    done = console.run("scaffold", "fourfam", str(place), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads((place / "answer.json").read_text())
    assert answer["recipe"]["source"] == "fourfam-s800"
    assert (answer["recipe"]["kl_coef"], answer["recipe"]["steps"]) == (0.1, 800)
    assert answer["dev_eval"] == {"proxy_mean": 0.225, "kl_mean": 0.405}
    assessed = {row["run"]: row["recommend_ship"] for row in answer["run_assessments"]}
    assert len(assessed) == 5
    assert assessed["kl002-s1500"] is False
    assert assessed["kl05-s800"] is None
    empty = json.loads(done.stdout)["empty"]
    assert "run_assessments.kl05-s800.recommend_ship" in empty
    assert "run_assessments.kl002-s1500.recommend_ship" not in empty
    assert {"diagnostic.py", "summary.md ## Findings"} <= set(empty)
    assert (place / "checkpoint" / "policy.safetensors").read_bytes().endswith(b"0000")
    assert console.run("scaffold", "--check", str(place)).returncode == 1


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(console: Console) -> None:
    place = console.place / "sub"
    place.mkdir()
    (place / "mine").write_text("mine")
    assert console.run("scaffold", "fourfam", str(place)).returncode == 2
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_a_run_without_weights_is_refused_and_nothing_is_left(console: Console) -> None:
    write_run(console.workspace / "runs" / "early", finished=False)
    assert console.run("scaffold", "early", str(console.place / "sub")).returncode == 3
    assert not list(console.place.glob("*sub*"))


def test_a_failed_dev_evaluation_leaves_no_half_folder(console: Console) -> None:
    (console.task / "runs" / "kl05-s800" / "dev_eval.json").unlink()
    assert console.run("scaffold", "kl05", str(console.place / "sub")).returncode == 4
    assert not list(console.place.glob("*sub*"))


def test_filled_in_it_is_not_named_any_more(console: Console) -> None:
    place = console.place / "sub"
    console.run("scaffold", "fourfam", str(place))
    (place / "diagnostic.py").write_text("pass")
    (place / "summary.md").write_text("## Findings\nx\n## Decision\ny\n## How I computed this\nz\n")
    left = still_empty(place)
    assert "diagnostic.py" not in left
    assert not [name for name in left if name.startswith("summary.md")]
