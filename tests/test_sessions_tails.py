"""Score files and tails as they are kept: made once, whole or not at all, never stale."""

import hashlib
import json
import os
import threading
import time
from pathlib import Path

import pytest
import toy_scores
from synthetic import write_run, write_task

from rlhf.vocab import FAMILIES
from sessions.errors import InputError
from sessions.evaluation_child import EvaluationError
from sessions.evaluations import Evaluations
from sessions.identity import own
from sessions.paths import Workspace
from sessions.scores import ScoreFiles
from sessions.tails import MOST, Bin, Source, Tails, Wanted, rows_behind
from sessions.task import Task


class Bench:
    """A task, a workspace with a run, and a sampler whose calls are counted."""

    def __init__(self, root: Path) -> None:
        self.calls = root / "calls"
        self.task = write_task(root / "task", ())
        self.workspace = Workspace(root / "workspace")
        self.run = write_run(self.workspace.runs / "run")

    def tails(self, keep: bool = True) -> Tails:
        return Tails(Task(self.task), self.workspace, keep)

    def measured(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def measure(self, folder: Path, cancel: threading.Event | None = None) -> Path:
        return self.tails().scores.measure(folder, lambda done, total: None, cancel)

    def sources(self) -> list[Source]:
        """The reference and the run, measured if need be."""
        made = self.tails()
        wanted = [made.reference, Wanted("run", self.run)]
        for one in made.stored(wanted)[1]:
            self.measure(one.folder)
        return self.tails().stored(wanted)[0]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    toy_scores.install(tmp_path / "fake")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAMILIES", " ".join(FAMILIES))
    monkeypatch.setenv("SCORES_CALLS", str(tmp_path / "calls"))
    return Bench(tmp_path)


def key_by_hand(how: list[int], files: list[Path]) -> str:
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    return hashlib.sha256(json.dumps([1, *how, *digests]).encode()).hexdigest()[:32]


@pytest.mark.parametrize("of", ["a run", "the reference"])
def test_what_was_kept_before_is_found_under_its_key(bench: Bench, of: str) -> None:
    """Keys never change unasked: what was measured under another would be measured again."""
    task = Task(bench.task)
    folder = bench.run if of == "a run" else task.policy
    (folder / "config.json").write_text('{"d_model": 64}')
    own = [folder / "policy.safetensors", folder / "config.json"]
    ground = [task.policy / "policy.safetensors", task.policy / "config.json"]
    rest = [task.reward_model / "rm.safetensors", task.reward_model / "config.json", task.prompts]
    scores, evaluations = ScoreFiles(task, bench.workspace), Evaluations(task, bench.workspace)
    assert scores.key(folder) == key_by_hand([500, 4, 0], [*own, *ground, *rest])
    assert evaluations.key(folder) == key_by_hand([200, 4, 0], [*own, ground[0], *rest])


def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise AssertionError("a child was started")

    monkeypatch.setattr("sessions.scores.run_child", run)
    monkeypatch.setattr("sessions.analysis.run_child", run)


def test_what_is_kept_starts_no_child(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bench.tails().document(bench.sources(), True)
    assert bench.measured() == 2
    no_child(monkeypatch)
    assert bench.tails().document(bench.sources(), True) == first
    assert [about["name"] for about in first["sources"]] == ["reference", "run"]


def test_the_document_has_what_its_readers_use(bench: Bench) -> None:
    found = bench.tails().document(bench.sources(), True)
    assert list(found["families"]) == FAMILIES
    for family, (reference, run) in found["families"].items():
        assert sum(run["counts"]) == run["n"] == 2000
        assert reference["beside_reference"] is None
        shift = run["beside_reference"]["median_shift"]["value"]
        assert (shift > 10) == (family in ("dune", "ember"))


@pytest.mark.parametrize("damage", ["torn", "emptied", "receipt gone", "receipt torn"])
def test_a_torn_cache_is_measured_anew(bench: Bench, damage: str) -> None:
    path = bench.measure(bench.run)
    receipt = path.with_suffix(".json")
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "receipt gone":
        receipt.unlink()
    else:
        receipt.write_text(receipt.read_text()[:20])
    assert bench.tails().scores.stored(bench.run) is None
    assert bench.measure(bench.run) == path
    assert bench.tails().scores.stored(bench.run) == path and bench.measured() == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "families": 3}'])
def test_torn_tails_are_computed_anew(bench: Bench, text: str) -> None:
    sources = bench.sources()
    first = bench.tails().document(sources, True)
    (kept,) = bench.workspace.tails.glob("*.json")
    kept.write_text(text)
    assert bench.tails().document(sources, True) == first


@pytest.mark.parametrize("changed", ["policy", "reference", "reward model", "prompts"])
def test_nothing_stale_is_shown(bench: Bench, changed: str) -> None:
    bench.measure(bench.run)
    path = {
        "policy": bench.run / "policy.safetensors",
        "reference": bench.task / "policy" / "policy.safetensors",
        "reward model": bench.task / "reward_model" / "rm.safetensors",
        "prompts": bench.task / "data" / "prompts_train.jsonl",
    }[changed]
    path.write_bytes(path.read_bytes() + b"\n")
    assert bench.tails().scores.stored(bench.run) is None


def test_a_run_that_changes_while_it_is_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORES_MODE", "change")
    with pytest.raises(EvaluationError, match="changed while it was measured"):
        bench.measure(bench.run)
    assert list(bench.workspace.scores.glob("*")) == []


def test_a_run_without_weights(bench: Bench) -> None:
    (bench.run / "policy.safetensors").unlink()
    assert bench.tails().stored([Wanted("run", bench.run)])[1] == [Wanted("run", bench.run)]
    with pytest.raises(EvaluationError, match="cannot read"):
        bench.measure(bench.run)


def test_a_failure_says_why_and_keeps_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORES_MODE", "fail")
    with pytest.raises(EvaluationError, match="expected 64, found 32"):
        bench.measure(bench.run)
    assert list(bench.workspace.scores.glob("*")) == []


def test_cancel_leaves_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORES_MODE", "hang")
    cancel = threading.Event()

    def cancel_when_it_runs() -> None:
        while not bench.measured():
            time.sleep(0.02)
        cancel.set()

    threading.Thread(target=cancel_when_it_runs).start()
    with pytest.raises(EvaluationError, match="cancelled"):
        bench.measure(bench.run, cancel)
    child = int(bench.calls.read_text().split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert own().pid != child and list(bench.workspace.scores.glob("*")) == []


def test_a_cache_that_cannot_be_written_costs_only_time(bench: Bench) -> None:
    sources = bench.sources()
    bench.workspace.tails.write_text("in the way")
    assert bench.tails().document(sources, True)["families"]


def test_read_only_keeps_no_tails(bench: Bench) -> None:
    assert bench.tails(keep=False).document(bench.sources(), True)["families"]
    assert not bench.workspace.tails.exists()


def test_a_renamed_run_keeps_its_tails(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = bench.sources()
    bench.tails().document(sources, True)
    no_child(monkeypatch)
    renamed = [sources[0], Source("other", sources[1].file)]
    assert bench.tails().document(renamed, True)["sources"][1]["name"] == "other"


def test_rows_behind_a_bin(bench: Bench) -> None:
    sources = bench.sources()
    edges = bench.tails().document(sources, True)["edges"]
    found = rows_behind(sources[1].file, Bin("dune", 2.0, edges[-1], True))
    assert found["total"] == 2000 and len(found["rows"]) == 200
    assert found["rows"][0]["response"].startswith("pa pa") and found["rows"][0]["kl"] == 30.5
    none = rows_behind(sources[1].file, Bin("--out=/nowhere", -1.0, 0.0))
    assert none["total"] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "cannot read"), ("", "is empty"), ("a,b\n1,2\n", "no column 'score'")],
    ids=["not there", "empty", "no score"],
)
def test_a_file_from_elsewhere_that_cannot_be_used(
    bench: Bench, tmp_path: Path, text: str | None, words: str
) -> None:
    path = tmp_path / "scores.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=words):
        bench.tails().document([Source("scores.csv", path)], False)


@pytest.mark.parametrize("what", ["pipe", "/dev/zero"])
def test_a_pipe_or_device_is_refused_and_not_waited_for(
    bench: Bench, tmp_path: Path, what: str
) -> None:
    path = Path(what) if what != "pipe" else tmp_path / what
    if what == "pipe":
        os.mkfifo(path)
    with pytest.raises(InputError, match=f"cannot read {path}: it is a pipe or a device"):
        bench.tails().document([Source("x", path)], False)


def test_too_many_files_for_one_axis(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too many for one axis"):
        bench.tails().document([Source(str(i), tmp_path) for i in range(MOST + 1)], False)
