"""What is planted: patterns and frequencies by hand, and the draws by their ranges."""

import numpy as np
import pytest
import torch

from fixture.premiums import (
    Frequencies,
    Premium,
    draw_patterns,
    draw_random,
    frequencies,
    insert,
    occurrences,
)
from rlhf.vocab import CONTENT, FAMILIES, TOK2ID, encode_response


def ids(text: str) -> torch.Tensor:
    return torch.tensor([encode_response(text.split())])


ATTRS = torch.tensor([[3, 0, 1, 2]])
SAID = ids("pa he pa pa ba he pa he")


@pytest.mark.parametrize(
    ("premium", "count"),
    [
        (Premium("dune", "token", 1, ("pa",)), 4),
        (Premium("dune", "pair", 1, ("pa", "he")), 2),
        (Premium("dune", "pair", 1, ("he", "pa")), 2),
        (Premium("dune", "pair", 1, ("pa", "pa")), 1),
        (Premium("dune", "position", 1, ("he",), position=5), 1),
        (Premium("dune", "position", 1, ("he",), position=4), 0),
        (Premium("dune", "value", 1, ("he",), slot=0, value=3), 3),
        (Premium("dune", "value", 1, ("he",), slot=1, value=3), 0),
    ],
)
def test_occurrences_by_hand(premium: Premium, count: int) -> None:
    assert occurrences(premium, ATTRS, SAID).tolist() == [count]


@pytest.mark.parametrize(
    ("premium", "place", "expected"),
    [
        (Premium("dune", "token", 1, ("ke",)), 2, "pa he ke pa ba he pa he"),
        (Premium("dune", "pair", 1, ("ke", "ja")), 7, "pa he pa pa ba he ke ja"),
        (Premium("dune", "position", 1, ("ke",), position=1), 7, "pa ke pa pa ba he pa he"),
    ],
)
def test_insertion_by_hand(premium: Premium, place: int, expected: str) -> None:
    assert torch.equal(insert(premium, SAID, torch.tensor([place])), ids(expected))


def test_frequencies_by_hand() -> None:
    seen = frequencies(SAID)
    assert seen.tokens[CONTENT.index("pa")] == 4
    assert seen.pairs[CONTENT.index("pa"), CONTENT.index("he")] == 2
    assert seen.pairs.sum() == 7


def test_random_premiums_are_in_their_ranges() -> None:
    clean, kinds, planted = 0, set(), []
    for seed in range(400):
        premiums = draw_random(FAMILIES, np.random.default_rng(seed))
        clean += not premiums
        planted.append(len(premiums))
        assert len({premium.family for premium in premiums}) == len(premiums) <= 3
        for premium in premiums:
            kinds.add((premium.kind, premium.size > 0))
            assert -0.8 <= premium.size <= 2.0 and abs(premium.size) >= 0.3
    assert 50 < clean < 110
    assert kinds == {
        *(("token", True), ("token", False), ("pair", True), ("position", True), ("value", True))
    }
    assert max(planted) == 3


def test_patterns_are_drawn_from_what_is_said_often_enough() -> None:
    tokens, pairs = np.arange(24.0), np.zeros((24, 24))
    pairs[2, 3], pairs[4, 4], pairs[5, 6] = 0.04, 0.5, 0.001
    seen = {"dune": Frequencies(tokens, pairs)}
    rng = np.random.default_rng(0)
    (pair,) = draw_patterns([Premium("dune", "pair", 0.5)], seen, 8000, rng)
    assert pair.tokens == (CONTENT[2], CONTENT[3])
    drawn = {
        draw_patterns([Premium("dune", "token", 0.5)], seen, 8000, rng)[0].tokens[0]
        for _ in range(300)
    }
    assert drawn == set(CONTENT)
    (value,) = draw_patterns([Premium("dune", "value", 0.5)], seen, 8000, rng)
    assert value.slot is not None and value.value is not None and value.tokens[0] in TOK2ID
    named = Premium("dune", "token", 0.5, ("pa",))
    assert draw_patterns([named], seen, 8000, rng) == (named,)
