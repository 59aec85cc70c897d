"""The release rule by hand, on the bars and beside them."""

import pytest

from rlhf.analysis.release import Gain, balanced, improved, judge


def gains(*means: float) -> dict[str, Gain]:
    names = ("anvil", "birch", "cobalt", "dune", "ember", "fjord")
    return {name: Gain(mean, 0.01) for name, mean in zip(names, means, strict=True)}


def test_balanced_by_hand() -> None:
    got = balanced(gains(0.1, 0.2, 0.3, 0.0, -0.1, 0.1))
    assert got.mean == pytest.approx(0.1)
    assert got.se == pytest.approx(0.01 * 6**0.5 / 6)


@pytest.mark.parametrize(
    ("means", "ships"),
    [
        ((0.25, 0.0, 0.0, 0.0, 0.0, 0.0), True),
        ((0.03,) * 6, True),
        ((0.029999,) * 6, False),
        ((0.5, 0.5, 0.5, 0.5, 0.5, -0.03), True),
        ((0.5, 0.5, 0.5, 0.5, 0.5, -0.030001), False),
        ((0.0,) * 6, False),
    ],
)
def test_the_bars_count_themselves(means: tuple[float, ...], ships: bool) -> None:
    assert judge(gains(*means)).ships is ships


def test_margins_and_the_worst_family() -> None:
    release = judge(gains(0.1, 0.1, 0.1, -0.2, 0.1, 0.1))
    assert release.worst_family == "dune"
    assert release.family_margin == Gain(pytest.approx(-0.17), 0.01)
    assert release.mean_margin.mean == pytest.approx(0.05 - 0.03)


def test_improved_counts_its_bar() -> None:
    assert improved(gains(0.02, 0.0199, 0.5, -0.5, 0.0, 0.021)) == ["anvil", "cobalt", "fjord"]
