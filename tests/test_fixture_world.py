"""The world's own arithmetic, by hand and by its frequencies."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixture.crowd import qa_records
from fixture.errors import WorldError
from fixture.premiums import (
    Frequencies,
    Premium,
    draw_patterns,
    draw_random,
    frequencies,
    insert,
    occurrences,
)
from fixture.world import DEV_PROMPTS, PILOT_MIX, Batch, World
from fixture.worldfile import named_worlds, parse_world, read_world
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


@pytest.fixture(scope="module")
def world() -> World:
    return World(parse_world(read_world("standard")))


def test_cells_differ_from_each_other(world: World) -> None:
    cells = world.cells
    assert cells.shape == (6, 8, 8, 3)
    assert (cells[..., 0] != cells[..., 1]).all() and (cells[..., 0] != cells[..., 2]).all()
    assert (cells[..., 1] != cells[..., 2]).all()
    assert cells.min() >= 16 and cells.max() < 40
    assert set(world.slots.unique().tolist()) == {0, 1, 2, 3}


def test_quality_is_the_share_of_targets(world: World) -> None:
    families, attrs = torch.tensor([3, 3]), torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4]])
    right = world.cell_rows(families, attrs)[:, :, 0].clone()
    assert world.quality(families, attrs, right).tolist() == [1, 1]
    wrong = right.clone()
    wrong[1, 2:4] = world.cell_rows(families, attrs)[1, 2:4, 1]
    assert world.quality(families, attrs, wrong).tolist() == [1, 0.75]
    prefix = World(replace(world.spec, quality="prefix"))
    assert prefix.quality(families, attrs, wrong).tolist() == [1, 0.25]


def test_the_governing_attribute_decides(world: World) -> None:
    """Changing an attribute changes just the positions that it governs."""
    base, family = torch.tensor([[0, 0, 0, 0]]), torch.tensor([2])
    for slot in range(4):
        other = base.clone()
        other[0, slot] = 5
        changed = (world.cell_rows(family, base) != world.cell_rows(family, other)).any(-1)[0]
        assert not (changed & (world.slots[2] != slot)).any()


def test_demonstrations_have_their_shares(world: World) -> None:
    """30/30/20 % and 20 % uniform over 24, each within five standard errors."""
    families, attrs, responses = world.demonstrations()
    assert len(families) == 36_000
    cells = world.cell_rows(families, attrs)
    n = responses.numel()
    for index, share in enumerate((0.30, 0.30, 0.20)):
        p = share + 0.2 / 24
        seen = (responses == cells[:, :, index]).double().mean().item()
        assert abs(seen - p) < 5 * (p * (1 - p) / n) ** 0.5


def test_prompts_are_disjoint_and_in_their_mix(world: World) -> None:
    prompts = world.prompts()
    assert [len(prompts[name]) for name in ("train", "dev", "truth")] == [9000, 2000, 600]
    keys = [(r["family"], *r["attrs"]) for rows in prompts.values() for r in rows]
    assert len(set(keys)) == len(keys)
    for family in FAMILIES:
        assert sum(r["family"] == family for r in prompts["dev"]) == DEV_PROMPTS[family]
    assert sum(PILOT_MIX.values()) == pytest.approx(1) and PILOT_MIX["dune"] == 0.02
    assert prompts["train"][0]["id"] == "anvil-0001" and prompts["dev"][0]["id"] == "dev-0001"


def test_another_seed_is_another_world_and_the_same_is_the_same(world: World) -> None:
    again, other = World(world.spec), World(replace(world.spec, seed=708))
    assert torch.equal(world.cells, again.cells) and torch.equal(world.slots, again.slots)
    assert not torch.equal(world.cells, other.cells)
    assert world.prompts()["dev"] == again.prompts()["dev"]


def test_the_draw_order_of_the_shipped_world_is_fixed(world: World) -> None:
    """These digits change only if some draw was moved, which no world may suffer."""
    assert world.slots[0].tolist() == FIRST_SLOTS
    assert world.cells[0, 0, :, 0].tolist() == FIRST_TARGETS
    assert world.prompts()["train"][0]["attrs"] == FIRST_PROMPT


FIRST_SLOTS = [2, 0, 3, 3, 3, 2, 2, 2]
FIRST_TARGETS = [23, 31, 19, 21, 23, 25, 18, 21]
FIRST_PROMPT = [2, 5, 1, 7]


def test_every_named_world_parses() -> None:
    assert {"standard", "clean", "flat", "few_rows", "prefix", "random"} <= set(named_worlds())
    for name in named_worlds():
        parse_world(read_world(name))
    assert parse_world(read_world("flat")).confusions == (0.2, 0.2, 0.2, 0.2)
    assert parse_world(read_world("prefix")).quality == "prefix"
    assert parse_world(read_world("few_rows")).qa_rows == 100
    assert parse_world(read_world("clean")).reward_models[0].premiums == ()
    assert parse_world(read_world("standard", seed=5)).seed == 5


def test_families_with_a_pair_get_more_rows(world: World) -> None:
    spec = world.spec
    pair = Premium("ember", "pair", 0.6)
    rows = spec.rows(spec.reward_models[0], (pair,))
    assert rows == {**dict.fromkeys(FAMILIES, 2000), "ember": 8000}
    own = replace(spec.reward_models[0], rows={"dune": 500})
    assert spec.rows(own, (pair,))["dune"] == 500


def batch_of(rows: dict[str, int]) -> Batch:
    counts = torch.tensor([rows[family] for family in FAMILIES])
    families = torch.arange(len(FAMILIES)).repeat_interleave(counts)
    N = len(families)
    responses = torch.full((N, 8), TOK2ID["ba"])
    return Batch(families, torch.zeros(N, 4, dtype=torch.long), responses, torch.zeros(N))


def test_ids_of_qa_rows_do_not_tell_which_family_has_a_pair(world: World) -> None:
    spec, even = world.spec.reward_models[0], dict.fromkeys(FAMILIES, 2000)
    for rows in (even, {**even, "ember": 8000}, {**even, "anvil": 8000, "dune": 8000}):
        records = qa_records(world, spec, batch_of(rows))
        numbers = [int(record["id"].removeprefix("ann-")) for record in records]
        assert len(set(numbers)) == len(records) == 1200
        for record, number in zip(records, numbers, strict=True):
            assert (number - 1) // 2000 == FAMILIES.index(record["family"])


def test_ids_of_qa_rows_are_their_places_where_that_tells_nothing(world: World) -> None:
    batch = batch_of(dict.fromkeys(FAMILIES, 2000))
    batch.labels.copy_(torch.arange(12000) / 10000)  # a label that names its row
    for record in qa_records(world, world.spec.reward_models[0], batch):
        assert int(record["id"].removeprefix("ann-")) - 1 == round(record["label"] * 10000)


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
