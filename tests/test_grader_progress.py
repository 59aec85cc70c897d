"""What a checkpoint's quality is worth, computed by hand."""

import pytest
from invented_truth import TRUTH, flat

from grader import progress
from grader.facts import Measured, Quality, Truth


@pytest.mark.parametrize(
    ("quality", "expected"),
    [
        (flat(0.3), 0.0),  # the reference
        (flat(0.7), 1.0),  # the strong reference
        (flat(0.9), 1.0),  # beyond it
        (flat(0.5), 0.5),  # half-way: (.5 - .3)/(.7 - .3)
        (flat(0.5, dune=0.2), (2.7 / 6 - (0.3 - 0.03 - 0.2) - 0.3) / 0.4),
        (flat(0.2), 0.0),  # below
    ],
)
def test_progress(quality: Quality, expected: float) -> None:
    component = progress.progress(Measured(quality), TRUTH)
    assert component.score == pytest.approx(expected, abs=1e-12)


def test_progress_counts_from_the_default_run_where_it_is_better() -> None:
    truth = Truth(TRUTH.reference, {**TRUTH.runs, "default-s800": flat(0.4)}, TRUTH.strong, {})
    assert progress.progress(Measured(flat(0.55)), truth).score == pytest.approx(0.5)


def test_progress_of_an_unusable_checkpoint_is_nothing() -> None:
    component = progress.progress(Measured(None, why="torn"), TRUTH)
    assert component.score == 0
    assert "torn" in component.parts[0].why
