"""World files: those that ship are read, a bad one is named."""

import pytest

from fixture.errors import WorldError
from fixture.worldfile import named_worlds, parse_world, read_world


def test_every_named_world_parses() -> None:
    assert {"standard", "clean", "flat", "few_rows", "prefix", "random"} <= set(named_worlds())
    for name in named_worlds():
        parse_world(read_world(name))
    assert parse_world(read_world("flat")).confusions == (0.2, 0.2, 0.2, 0.2)
    assert parse_world(read_world("prefix")).quality == "prefix"
    assert parse_world(read_world("few_rows")).qa_rows == 100
    assert parse_world(read_world("clean")).reward_models[0].premiums == ()
    assert parse_world(read_world("standard", seed=5)).seed == 5


def planted(**premium: object) -> dict[str, object]:
    return {"reward_model": [{"name": "a", "premium": [{"family": "dune", **premium}]}]}


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        pytest.param({"seeed": 1}, "'seed'", id="unknown key"),
        pytest.param({"seed": -1}, "seed", id="negative seed"),
        pytest.param({"target": 0.7, "confusions": [0.4]}, "share", id="shares above 1"),
        pytest.param({"quality": "sum"}, "quality", id="unknown quality"),
        pytest.param({"qa_rows": 5000}, "qa_rows", id="more QA rows than rows"),
        pytest.param({"crowd_noise": "much"}, "crowd_noise", id="noise a text"),
        pytest.param({"reward_model": [{"name": "a b"}]}, "name", id="name of two words"),
        pytest.param({"reward_model": [{"name": "a", "x": 1}]}, "'x'", id="unknown key of an RM"),
        pytest.param({"reward_model": {"name": "a"}}, r"\[\[reward_model\]\]", id="one table"),
        pytest.param({"reward_model": 3}, "reward_model", id="a number for an RM"),
        pytest.param({"reward_model": [{"name": "a"}] * 2}, "twice", id="a name twice"),
        pytest.param(
            {"reward_model": [{"name": "a", "rows": {"dune": 50}}]}, "qa_rows", id="few rows"
        ),
        pytest.param(planted(kind="token", size=0), "size of 0", id="a size of 0"),
        pytest.param(planted(kind="pair", size=1, token="pa"), "token", id="token of a pair"),
        pytest.param(
            planted(kind="token", size=1, pair=["pa", "he"]), "pair", id="pair of a token"
        ),
        pytest.param(planted(kind="pair", size=1, pair=5), "no pattern", id="pair a number"),
        pytest.param({"reward_model": [{"name": "a", "premium": 5}]}, "premium", id="premium 5"),
        pytest.param(
            {"reward_model": [{"name": "a", "premium": [{"family": "sand"}]}]},
            "unknown family",
            id="unknown family",
        ),
        pytest.param(
            {"reward_model": [{"name": "a", "premium": [{"family": "dune", "kind": "word"}]}]},
            "kind",
            id="unknown kind",
        ),
        pytest.param(
            {
                "reward_model": [
                    {
                        "name": "a",
                        "premium": [{"family": "dune", "kind": "token", "token": "xx", "size": 1}],
                    }
                ]
            },
            "xx",
            id="unknown token",
        ),
    ],
)
def test_a_bad_world_is_named(raw: dict[str, object], named: str) -> None:
    with pytest.raises(WorldError, match=named):
        parse_world(raw)


def test_a_world_that_is_not_there_is_named() -> None:
    with pytest.raises(WorldError, match="'standard'"):
        read_world("standart")
