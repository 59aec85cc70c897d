"""The world's own arithmetic, by hand and by its frequencies."""

from dataclasses import replace

import pytest
import torch

from fixture.crowd import qa_records
from fixture.premiums import Premium
from fixture.world import DEV_PROMPTS, PILOT_MIX, Batch, World
from fixture.worldfile import parse_world, read_world
from rlhf.vocab import FAMILIES, TOK2ID


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
