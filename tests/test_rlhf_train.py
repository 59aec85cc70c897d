"""A training run from end to end: what it writes, and that it can be repeated."""

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import TASK
from short_runs import QUICK, receipt, rows_of, same

from rlhf import runlog
from rlhf.data import read_jsonl, write_jsonl
from rlhf.errors import CheckpointError, ConfigError, DataError, TrainingError, WrapperError
from rlhf.train_rl import train


def test_what_a_run_leaves(tmp_path: Path) -> None:
    train({**QUICK, "steps": 10}, tmp_path, quiet=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "done.json",
        "log.jsonl",
        "policy.safetensors",
        "run_config.json",
    ]
    rows = runlog.read_log(tmp_path / "log.jsonl").rows
    assert [row["step"] for row in rows] == [4, 8, 10]
    assert list(rows[0]) == [
        *("step", "proxy_reward", "kl", "shaped_reward", "entropy", "loss", "families", "elapsed_s")
    ]
    assert sum(family["n"] for family in rows[0]["families"].values()) == 4 * 16
    done = receipt(tmp_path)
    assert (done["outcome"], done["steps"], done["reason"]) == ("finished", 10, None)
    assert done["artifacts"]["log.jsonl"] == runlog.canonical_sha256(tmp_path / "log.jsonl")


def test_kl_is_exactly_zero_before_the_first_update(tmp_path: Path) -> None:
    train({**QUICK, "steps": 2, "log_every": 1}, tmp_path, quiet=True)
    first, second = rows_of(tmp_path)
    assert first["kl"] == 0.0 and first["shaped_reward"] == first["proxy_reward"]
    assert {family["kl"] for family in first["families"].values() if family["n"]} == {0.0}
    assert second["kl"] != 0.0


def test_log_rows_are_means_since_the_row_before(tmp_path: Path) -> None:
    train({**QUICK, "log_every": 1}, tmp_path / "each", quiet=True)
    train({**QUICK, "log_every": 6}, tmp_path / "six", quiet=True)
    each, six = rows_of(tmp_path / "each"), rows_of(tmp_path / "six")
    for key in ("proxy_reward", "kl", "shaped_reward", "entropy", "loss"):
        for index, row in enumerate(six):
            steps = each[index * 6 : index * 6 + 6]
            assert row[key] == pytest.approx(sum(s[key] for s in steps) / 6, abs=2e-6), key


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train({**QUICK, "seed": seed}, tmp_path / name, quiet=True)
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


def test_training_moves_the_reward_up_and_the_penalty_holds_it(tmp_path: Path) -> None:
    cfg = {**QUICK, "steps": 60, "log_every": 30, "batch_prompts": 16, "samples_per_prompt": 8}
    train({**cfg, "kl_coef": 0.0}, tmp_path / "free", quiet=True)
    train({**cfg, "kl_coef": 10.0}, tmp_path / "held", quiet=True)
    free, held = rows_of(tmp_path / "free"), rows_of(tmp_path / "held")
    assert free[1]["proxy_reward"] > free[0]["proxy_reward"] + 0.02
    assert free[1]["kl"] > 5 * abs(held[1]["kl"])


def test_a_weight_of_zero_drops_a_family(tmp_path: Path) -> None:
    train({**QUICK, "family_weights": {"dune": 1, "ember": 0}}, tmp_path, quiet=True)
    families = rows_of(tmp_path)[-1]["families"]
    assert families["dune"]["n"] == 4 * 16
    assert families["ember"] == {"n": 0, "proxy_reward": None, "kl": None}


def test_a_weighted_family_without_prompts_is_an_error(tmp_path: Path) -> None:
    prompts = read_jsonl(TASK / "data" / "prompts_train.jsonl")
    without = [record for record in prompts if record["family"] != "dune"]
    write_jsonl(tmp_path / "p.jsonl", without)
    cfg = {**QUICK, "prompt_file": str(tmp_path / "p.jsonl")}
    with pytest.raises(ConfigError, match="'dune' weighs 0.5"):
        train({**cfg, "family_weights": {"dune": 0.5, "ember": 1}}, tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()
    train(cfg, tmp_path / "out", quiet=True)
    assert rows_of(tmp_path / "out")[0]["families"]["dune"]["n"] == 0


@pytest.mark.parametrize(
    ("cfg", "error"),
    [
        pytest.param({"steps": -1}, ConfigError, id="bad setting"),
        pytest.param({"temperature": 0}, ConfigError, id="temperature of 0"),
        pytest.param({"policy_ref": "/nowhere"}, CheckpointError, id="missing policy"),
        pytest.param({"reward_model": "/nowhere"}, CheckpointError, id="missing reward model"),
        pytest.param({"prompt_file": "/nowhere"}, DataError, id="missing prompts"),
        pytest.param({"reward_wrapper": "/nowhere.py"}, WrapperError, id="missing wrapper"),
    ],
)
def test_nothing_is_written_for_a_run_that_cannot_start(
    tmp_path: Path, cfg: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        train({**QUICK, **cfg}, tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_a_caller_without_gradients_can_train(tmp_path: Path, context: Any) -> None:
    train(QUICK, tmp_path / "a", quiet=True)
    with context():
        train(QUICK, tmp_path / "b", quiet=True)
    assert same(tmp_path / "a", tmp_path / "b")


def test_a_gradient_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="gradient"):
        train(
            {**QUICK, "kl_coef": 0},
            tmp_path,
            quiet=True,
            wrap_fn=lambda records, tokens, rewards: [
                3e38 * (-1) ** i for i in range(len(rewards))
            ],
        )
    assert receipt(tmp_path)["outcome"] == "failed"
