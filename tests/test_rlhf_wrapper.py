"""What a reward wrapper sees and changes, and what a bad one costs."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from conftest import TASK
from short_runs import QUICK, receipt, rows_of, same

from rlhf.data import read_jsonl, write_jsonl
from rlhf.errors import WrapperError
from rlhf.train_rl import main, train


def test_a_wrapper_sees_rows_and_changes_only_the_reward(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []

    def transform(records: list[Any], responses: list[list[str]], rewards: list[float]) -> Any:
        seen.append((len(records), len(responses), len(rewards)))
        assert all(len(tokens) == 8 for tokens in responses) and "family" in records[0]
        return torch.tensor(rewards) * 0 + 3

    train({**QUICK, "steps": 1, "log_every": 1}, tmp_path, quiet=True, wrap_fn=transform)
    row = rows_of(tmp_path)[0]
    assert seen == [(16, 16, 16)]
    assert row["shaped_reward"] == 3.0 and row["proxy_reward"] != 3.0


def test_wrap_fn_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "w.py").write_text("def transform(r, t, rewards):\n    raise ValueError('file')\n")
    cfg = {**QUICK, "steps": 1, "reward_wrapper": str(tmp_path / "w.py")}
    train(cfg, tmp_path / "out", quiet=True, wrap_fn=lambda records, tokens, rewards: rewards)
    with pytest.raises(WrapperError, match="file"):
        train(cfg, tmp_path / "out2", quiet=True)


def fails_at_third(bad: Callable[[list[float]], Any]) -> Callable[..., Any]:
    calls: list[int] = []

    def transform(records: list[Any], responses: list[Any], rewards: list[float]) -> Any:
        calls.append(1)
        return bad(rewards) if len(calls) == 3 else rewards

    return transform


def raises(rewards: list[float]) -> list[float]:
    raise KeyError("[/] no such key")


def breaks_off(rewards: list[float]) -> Any:
    yield rewards[0]
    raise TypeError("half-way")


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        pytest.param(raises, "raised KeyError", id="raises"),
        pytest.param(lambda r: r[:-1], "15 rewards for 16 rows", id="returns the wrong length"),
        pytest.param(lambda r: [math.nan, *r[1:]], "row 0, family", id="returns NaN"),
        pytest.param(lambda r: [*r[:-1], math.inf], "row 15, family", id="returns inf"),
        pytest.param(lambda r: None, "NoneType", id="returns nothing"),
        pytest.param(lambda r: ["x"] * 16, "row 0", id="returns texts"),
        pytest.param(lambda r: sys.exit(0), "raised SystemExit", id="exits"),
        pytest.param(breaks_off, "raised TypeError: half-way", id="breaks off half-way"),
        pytest.param(lambda r: dict.fromkeys(range(16)), "returned dict", id="returns a dict"),
        pytest.param(lambda r: set(range(16)), "returned set", id="returns a set"),
        pytest.param(lambda r: [1e39, *r[1:]], "row 0", id="more than float32 holds"),
        pytest.param(lambda r: [10**400, *r[1:]], "row 0", id="a huge integer"),
        pytest.param(lambda r: [torch.zeros(2)] * 16, "row 0", id="returns pairs"),
    ],
)
def test_a_bad_wrapper_ends_the_run_and_loses_nothing(
    tmp_path: Path, bad: Callable[[list[float]], Any], named: str
) -> None:
    with pytest.raises(WrapperError, match="step 3") as caught:
        train({**QUICK, "save_every": 1}, tmp_path, quiet=True, wrap_fn=fails_at_third(bad))
    assert named in str(caught.value)
    done = receipt(tmp_path)
    assert done["outcome"] == "failed" and named in done["reason"] and done["steps"] == 2
    assert (tmp_path / "checkpoints" / "step-000002").is_dir()
    train(QUICK | {"save_every": 1}, tmp_path / "whole", quiet=True)
    train(QUICK | {"save_every": 1}, tmp_path, quiet=True, resume=True)
    assert same(tmp_path, tmp_path / "whole")


def test_what_a_wrapper_does_to_its_arguments_stays_with_it(tmp_path: Path) -> None:
    seen: list[list[Any]] = []

    def transform(records: list[Any], responses: list[Any], rewards: list[float]) -> list[float]:
        seen.append([record for record in records if "mark" in record or len(record["attrs"]) > 4])
        for record in records:
            record["attrs"].append(record.setdefault("mark", 0))
        kept = list(rewards)
        records.clear()
        responses.clear()
        rewards.clear()
        return kept

    pool = tmp_path / "p.jsonl"  # one prompt: every step draws it again
    write_jsonl(pool, read_jsonl(TASK / "data" / "prompts_train.jsonl")[:1])
    train({**QUICK, "prompt_file": pool}, tmp_path / "out", quiet=True, wrap_fn=transform)
    assert seen == [[]] * 12


def test_any_callable_is_a_wrapper_and_nothing_else_is(tmp_path: Path) -> None:
    class Empty(list):  # type: ignore[type-arg]
        def __call__(self, records: Any, responses: Any, rewards: list[float]) -> list[float]:
            return [3.0] * len(rewards)

    cfg = {**QUICK, "steps": 1}
    train(cfg, tmp_path / "out", quiet=True, wrap_fn=Empty())
    assert rows_of(tmp_path / "out")[0]["shaped_reward"] == 3.0
    with pytest.raises(WrapperError, match="not a function"):
        train(cfg, tmp_path / "none", quiet=True, wrap_fn=cast(Any, "w.py"))
    assert not (tmp_path / "none").exists()


def test_a_wrapper_file_that_exits_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps({**QUICK, "reward_wrapper": "w.py"}))
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out"), "--quiet"]
    for text in ("exit()\n", "def transform(r, t, rewards):\n    exit()\n"):
        (tmp_path / "w.py").write_text(text)
        override = f"reward_wrapper={tmp_path / 'w.py'}"
        assert main([*arguments, "--override", override, "--override", "seed=1"]) == 1
