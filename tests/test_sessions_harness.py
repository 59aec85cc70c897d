"""The kill harness in its short form; tests/bench/bench_sessions.py runs 50 kills."""

import random
from pathlib import Path

import pytest
from kill_harness import LONGEST_WRONG_S, Storm
from toy_lab import Lab

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the harness's own books need /proc"
)


def test_a_sweep_survives_kills_at_random_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_STEP_S", "0.02")
    report = Storm(Lab(tmp_path), kills=12, chance=random.Random(5), steps=40).report()
    assert sum(report["kills"].values()) >= 8
    assert report["starts"] == report["attempts"], "an attempt was begun twice, or never"
    assert not report["wrong"], report
    assert report["longest_wrong_s"] <= LONGEST_WRONG_S
    assert report["weights_same"]
