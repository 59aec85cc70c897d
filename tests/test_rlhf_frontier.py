"""Best of n from N samples: the weights, against brute force over all subsets, and the KL."""

import math
from itertools import combinations

import pytest
import torch

from rlhf.analysis.frontier import best_of, curve, sizes, weights

SCORES = torch.tensor([[3.0, -1.0, 2.5, 0.0, 2.5], [1e6, 0.0, 0.0, 0.0, -1e6]])


@pytest.mark.parametrize("n", range(1, 6))
def test_best_of_n_is_the_mean_over_all_subsets(n: int) -> None:
    for scores, found in zip(SCORES.tolist(), best_of(SCORES, n).tolist(), strict=True):
        best = [max(subset) for subset in combinations(scores, n)]
        assert found == pytest.approx(sum(best) / len(best), rel=1e-12)


@pytest.mark.parametrize("N", [1, 2, 5, 64])
def test_the_weights_are_chances(N: int) -> None:
    for n in range(1, N + 1):
        found = weights(N, n)
        assert found.sum().item() == pytest.approx(1, rel=1e-12)
        assert (found >= 0).all() and (found.diff() >= 0).all()


def test_the_best_of_one_is_the_mean_and_of_all_the_maximum() -> None:
    assert torch.allclose(best_of(SCORES, 1), SCORES.double().mean(1))
    assert torch.equal(best_of(SCORES, 5), SCORES.double().max(1).values)


def test_the_order_of_the_samples_is_nothing() -> None:
    assert torch.equal(best_of(SCORES.flip(1), 3), best_of(SCORES, 3))


@pytest.mark.parametrize(
    ("N", "wanted"), [(1, [1]), (5, [1, 2, 4]), (64, [1, 2, 4, 8, 16, 32, 64])]
)
def test_sizes_are_the_powers_of_two_that_there_are_samples_for(N: int, wanted: list[int]) -> None:
    assert sizes(N) == wanted


def test_a_curve_has_the_bound_of_its_kl_and_errors_over_prompts() -> None:
    rows = curve(torch.tensor([[0.0, 1.0], [4.0, 9.0]]))
    assert [row["n"] for row in rows] == [1, 2]
    assert [row["kl"] for row in rows] == pytest.approx([0, math.log(2) - 0.5], rel=1e-12)
    first, second = (row["proxy"] for row in rows)
    assert (first["mean"], second["mean"]) == (3.5, 5.0)
    # two prompts: half the distance of their means, whatever the samples say
    assert (first["se"], second["se"]) == pytest.approx((3.0, 4.0), rel=1e-12)
    assert first["n"] == 4
