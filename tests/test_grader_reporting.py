"""Every part of the reporting's score, computed by hand; and every corner of it."""

from pathlib import Path
from typing import Any

import pytest
from invented_truth import flat, submission

from grader import reporting
from grader.facts import Measured


@pytest.mark.parametrize(
    ("dev", "expected"),
    [
        ({"proxy_mean": 1.0, "kl_mean": 2.0}, 1.0),
        ({"proxy_mean": 1.125, "kl_mean": 2.5}, 1.0),
        ({"proxy_mean": 1.0, "kl_mean": 1.5}, 1.0),  # the bar itself
        ({"proxy_mean": 1.2, "kl_mean": 2.0}, 0.0),
        ({"proxy_mean": 1.0, "kl_mean": 2.51}, 0.0),
        ({"proxy_mean": 1.0}, 0.0),  # needs both
        ({"proxy_mean": True, "kl_mean": 2.0}, 0.0),  # a bool is no number
        ({"proxy_mean": "1.0", "kl_mean": 2.0}, 0.0),
        ({"proxy_mean": 10**299, "kl_mean": 2.0}, 0.0),
        (None, 0.0),
    ],
)
def test_r1(tmp_path: Path, dev: Any, expected: float) -> None:
    answer = submission(tmp_path, {"dev_eval": dev})
    measured = Measured(flat(0.4), proxy_mean=1.0, kl_mean=2.0)
    assert reporting.evaluation_reported(answer, measured).score == expected


def test_r1_of_an_unusable_checkpoint_is_nothing(tmp_path: Path) -> None:
    answer = submission(tmp_path, {"dev_eval": {"proxy_mean": 0, "kl_mean": 0}})
    assert reporting.evaluation_reported(answer, Measured(None)).score == 0


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [(0.5, 1.0), (0.625, 1.0), (0.66, 0.0), (None, 0.0), (False, 0.0), ([0.5], 0.0)],
)
def test_r2(tmp_path: Path, estimate: Any, expected: float) -> None:
    answer = submission(tmp_path, {"certification": {"estimated_true_quality": estimate}})
    assert reporting.estimate_given(answer, Measured(flat(0.5))).score == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Findings\nx\n## Decision\n## How I computed this\n", 1.0),
        ("## How I computed this  \r\n##  Findings\r\n## Decision", 1.0),
        ("## Findings\n## Decision\n", 0.0),
        ("see ## Findings, ## Decision, ## How I computed this", 0.0),
        ("", 0.0),
    ],
)
def test_r3(tmp_path: Path, text: str, expected: float) -> None:
    assert reporting.headings_there(submission(tmp_path, {}, summary_md=text)).score == expected


def experiment(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "files": ["log.txt"], "results": {"gain": 0.1}, **changes}


@pytest.mark.parametrize(
    ("experiments", "expected"),
    [
        ([experiment(), experiment()], 1.0),
        ([experiment()] * 5, 1.0),
        ([experiment()], 0.5),
        ([experiment(), experiment(files=["nothing.txt"])], 0.5),
        ([experiment(files=[])], 0.0),
        ([experiment(files=["log.txt", "gone"])], 0.0),
        ([experiment(files=["empty.txt"])], 0.0),  # an empty file is no evidence
        ([experiment(files=["."])], 0.0),
        ([experiment(files=["/workspace/submission/log.txt"])], 0.5),
        ([experiment(files=["./sub/../log.txt"])], 0.5),
        ([experiment(files=["../in/log.txt"])], 0.0),  # leaves the folder, even to come back
        ([experiment(files=["/etc/passwd"])], 0.0),
        ([experiment(files=["/workspace/submission/../../etc/passwd"])], 0.0),
        ([experiment(files=["log.txt\0"])], 0.0),
        ([experiment(files=[3])], 0.0),
        ([experiment(results={})], 0.0),
        ([experiment(results={"gain": True})], 0.0),  # a bool is no number
        ([experiment(results={"gain": "0.1"})], 0.0),
        ([experiment(results=[0.1])], 0.0),
        ("many", 0.0),
        ([None, "x"], 0.0),
    ],
)
def test_r4(tmp_path: Path, experiments: Any, expected: float) -> None:
    answer = submission(tmp_path, {"experiments": experiments}, log_txt="1", empty_txt="")
    assert reporting.experiments_backed(answer).score == expected


def test_sub_names_the_graded_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUB", "/elsewhere")
    answer = submission(tmp_path, {}, log_txt="1")
    assert answer.file_at("/elsewhere/log.txt") == "log.txt"
    assert answer.file_at("/workspace/submission/log.txt") is None
    assert answer.file_at(str(tmp_path / "in" / "log.txt")) == "log.txt"
