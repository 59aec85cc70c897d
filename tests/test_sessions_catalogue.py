"""Listing runs: read once, kept between processes, live runs looked at cheaply."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import row, write_run, write_task

from sessions import catalogue
from sessions.catalogue import KEEP_FROM, Catalogue, find
from sessions.paths import Workspace
from sessions.task import Task, TaskError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A task without runs and a workspace with two settled ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_task(tmp_path / "task", ())
    for name in ("one", "two"):
        write_run(tmp_path / "workspace" / "runs" / name, rows=2)
    yield tmp_path


def catalogue_of(place: Path, *extra: Path) -> Catalogue:
    return Catalogue(Task(place / "task"), Workspace(place / "workspace"), extra)


def ids(listing: catalogue.Listing) -> list[str]:
    return [run["id"] for run in listing.runs]


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(folder: Path, *_: object) -> dict:
        raise AssertionError(f"{folder} was read again")

    monkeypatch.setattr(catalogue, "read_run", read)


def test_a_settled_run_is_read_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = catalogue_of(place)
    before = listed.scan()
    forbid_reading(monkeypatch)
    assert listed.scan() == before
    assert listed.glance() is None
    (place / "workspace" / "runs" / "one" / "dev_eval.json").unlink()
    with pytest.raises(AssertionError, match="one was read again"):
        listed.scan()


def test_many_runs_are_kept_for_the_next_process(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(KEEP_FROM):
        write_run(place / "workspace" / "runs" / f"many-{number}", rows=2)
    before = catalogue_of(place).scan()
    kept = Workspace(place / "workspace").listing
    forbid_reading(monkeypatch)
    assert catalogue_of(place).scan() == before
    whole = kept.read_bytes()
    for damage in (b"", b"nonsense", whole[:-9], whole[:500] + b"\0" + whole[501:]):
        kept.write_bytes(damage)
        with pytest.raises(AssertionError, match="was read again"):
            catalogue_of(place).scan()


def test_a_glance_sees_runs_come_move_and_go(place: Path) -> None:
    runs = place / "workspace" / "runs"
    listed = catalogue_of(place)
    listed.scan()
    live = write_run(runs / "live", rows=2, finished=False)
    found = listed.glance()
    assert found is not None and found.runs[-3]["state"] == "running"
    assert listed.glance() is None
    with open(live / "log.jsonl", "a") as log:
        log.write(json.dumps({**row(2, 2, 800, 1.0, 2.0), "step": 820}) + "\n")
    found = listed.glance()
    assert found is not None and found.runs[-3]["step"] == 820
    (live / "log.jsonl").unlink()
    (live / "run_config.json").unlink()
    found = listed.glance()
    assert found is not None and "live" not in ids(found)


def test_two_folders_of_one_name_have_two_ids(place: Path) -> None:
    write_run(place / "elsewhere" / "one", rows=2)
    listing = catalogue_of(place, place / "elsewhere").scan()
    assert ids(listing) == ["reference", "one", "two", "one-2"]
    assert listing.folders["one-2"] == place / "elsewhere" / "one"


def test_seeds_share_a_recipe_and_other_settings_do_not(place: Path) -> None:
    runs = place / "workspace" / "runs"
    for name, seed, lr in (("a", 1, 1e-3), ("b", 2, 1e-3), ("c", 1, 2e-3)):
        write_run(runs / name, rows=2, seed=seed, lr=lr)
    recipes = catalogue_of(place).scan().recipes
    assert recipes["a"] == recipes["b"] != recipes["c"]


@pytest.mark.parametrize(("name", "found"), [("one", "one"), ("tw", "two"), ("ref", "reference")])
def test_a_run_is_found_by_id_or_unique_prefix(place: Path, name: str, found: str) -> None:
    assert find(catalogue_of(place).scan(), name) == found


def test_a_run_is_found_by_its_folder(place: Path) -> None:
    folder = place / "workspace" / "runs" / "two"
    assert find(catalogue_of(place).scan(), str(folder)) == "two"


@pytest.mark.parametrize("name", ["", "o", "nope", "/nowhere", "a\0b"])
def test_what_means_no_run_or_several_is_refused(place: Path, name: str) -> None:
    write_run(place / "workspace" / "runs" / "other", rows=2)
    with pytest.raises(LookupError):
        find(catalogue_of(place).scan(), name)


def test_a_task_that_vanished_is_an_error(place: Path) -> None:
    listed = catalogue_of(place)
    (place / "task" / "policy" / "policy.safetensors").unlink()
    with pytest.raises(TaskError, match=r"policy/policy\.safetensors is missing"):
        listed.scan()
