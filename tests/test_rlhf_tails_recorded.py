"""Tails of the scores that the shipped models are given: against numpy, and what stands out."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TASK
from score_files import one_file, values_of

from rlhf.analysis import score_rows, scorefile, scores, tails
from rlhf.analysis.tail_figures import HEAVY, QUANTILES
from rlhf.data import load_prompts
from rlhf.evaluate import load_models


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Score files of the reference and of the best-proxy run, 2,000 a family."""
    folder, found = tmp_path_factory.mktemp("scores"), {}
    task = ("--policy-ref", str(TASK / "policy"), "--reward-model", str(TASK / "reward_model"))
    prompts = ("--prompts", str(TASK / "data" / "prompts_train.jsonl"))
    for name, policy in (("reference", TASK / "policy"), ("kl002", TASK / "runs/kl002-s1500")):
        found[name] = folder / f"{name}.jsonl"
        words = ["--policy", str(policy), *task, *prompts, "--out", str(found[name])]
        assert scores.main(words) == 0
    return found


@pytest.fixture(scope="module")
def document(recorded: dict[str, Path]) -> dict[str, Any]:
    return tails.tails([one_file(path) for path in recorded.values()], reference=True)


def test_recorded_scores_have_numpys_quantiles_and_ratios(
    recorded: dict[str, Path], document: dict[str, Any]
) -> None:
    for place, path in enumerate(recorded.values()):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for family, found in document["families"].items():
            known = np.array([row["score"] for row in rows if row["family"] == family])
            assert len(known) == found[place]["n"] == 2000
            expected = np.quantile(known, list(QUANTILES.values())).tolist()
            assert list(values_of(found[place]).values()) == expected
            low, high = np.quantile(known, [0.25, 0.75]).tolist()
            ratio = (expected[3] - expected[0]) / (high - low)
            assert found[place]["tail_ratio"]["value"] == ratio
            assert found[place]["max"] == known.max()


def test_recorded_scores_are_counted_whole_on_one_axis(document: dict[str, Any]) -> None:
    edges = document["edges"]
    every = [one for found in document["families"].values() for one in found]
    assert all(sum(one["counts"]) == one["n_finite"] == one["n"] for one in every)
    assert edges[0] == min(one["min"] for one in every)
    assert edges[-1] == max(one["max"] for one in every)


def test_counts_are_numpys_histogram(recorded: dict[str, Path], document: dict[str, Any]) -> None:
    group = one_file(recorded["kl002"]).groups["dune"]
    expected = np.histogram(group.finite, np.array(document["edges"]))[0].tolist()
    assert document["families"]["dune"][1]["counts"] == expected


def test_dune_and_ember_stand_out_under_the_best_proxy_run(document: dict[str, Any]) -> None:
    shifts = {
        family: found[1]["beside_reference"]["median_shift"]["value"]
        for family, found in document["families"].items()
    }
    assert sorted(shifts, key=lambda family: -shifts[family])[:2] == ["dune", "ember"]
    assert shifts["ember"] > 2 * max(shifts[f] for f in ("anvil", "birch", "cobalt", "fjord"))
    assert document["families"]["dune"][0]["tail"] == HEAVY


def test_a_shift_has_an_interval(document: dict[str, Any]) -> None:
    for found in document["families"].values():
        shift = found[1]["beside_reference"]["median_shift"]
        assert shift["low"] < shift["value"] < shift["high"] < 1.2 * shift["low"]


def test_samples_come_as_the_trainer_draws_them() -> None:
    models = load_models(*(str(TASK / name) for name in ("policy", "policy", "reward_model")))
    records = load_prompts(TASK / "data" / "prompts_train.jsonl")
    rows = list(scores.score_rows(models, records, per_family=2, n=3, seed=1))
    assert [row["family"] for row in rows[:7]] == ["anvil"] * 6 + ["birch"]
    assert rows[0]["id"] == rows[2]["id"] != rows[3]["id"]
    assert all(np.float32(row["score"]) == row["score"] for row in rows)
    assert all(row["kl"] == 0 for row in rows)  # the reference against itself
    again = list(scores.score_rows(models, records, per_family=2, n=3, seed=1))
    assert rows == again


def test_permuted_and_padded_files_say_the_same(tmp_path: Path, recorded: dict[str, Path]) -> None:
    lines = recorded["kl002"].read_text().splitlines()
    lines = [line for line in lines if '"dune"' in line or '"ember"' in line]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    shuffled = [line[:-1] + ', "more": [1, 2]}\n\n' for line in lines]
    random.Random(0).shuffle(shuffled)
    (tmp_path / "b.jsonl").write_text("".join(shuffled))
    first, second = (tails.tails([one_file(tmp_path / f"{n}.jsonl")]) for n in "ab")
    assert first["edges"] == second["edges"]
    for family in ("dune", "ember"):
        assert first["families"][family] == second["families"][family]


def test_every_response_lies_behind_one_bin(
    recorded: dict[str, Path], document: dict[str, Any]
) -> None:
    rows = list(scorefile.good_rows(scorefile.read_scores(recorded["kl002"])))
    edges, counts = document["edges"], document["families"]["dune"][1]["counts"]
    for at, count in enumerate(counts):
        wanted = score_rows.Wanted("dune", edges[at], edges[at + 1], at == len(counts) - 1)
        found = score_rows.behind(rows, wanted, limit=5)
        assert found["total"] == count and len(found["rows"]) == min(5, count)
        assert all(row["response"] and row["kl"] is not None for row in found["rows"])
