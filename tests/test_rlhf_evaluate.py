"""Evaluation, best-of-n and reward-model training: numbers by hand, commands as they are typed."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT, TASK

from rlhf import bon, evaluate, train_rm
from rlhf.data import read_jsonl, write_jsonl
from rlhf.errors import DataError
from rlhf.evaluate import Models, balanced_mean, clustered_mean, collect, evaluate_families, pearson
from rlhf.model import Policy, response_logprobs, sample
from rlhf.reward_model import RewardModel, load_rm, score
from rlhf.runlog import read_json


def test_clustered_mean_by_hand() -> None:
    """Prompt means 1 and 4: mean 2.5, sd sqrt(4.5), se 1.5; samples of a prompt do not count."""
    got = clustered_mean(torch.tensor([0.0, 2.0, 3.0, 5.0]), n=2)
    assert got == {"mean": 2.5, "se": pytest.approx(1.5), "n": 4}
    assert clustered_mean(torch.tensor([1.0, 2.0]), n=2)["se"] is None


def test_balanced_mean_by_hand() -> None:
    got = balanced_mean([{"mean": 1.0, "se": 0.3, "n": 4}, {"mean": 3.0, "se": 0.4, "n": 8}])
    assert got == {"mean": 2.0, "se": pytest.approx(0.25), "n": 12}


def test_pearson_by_hand() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert pearson(x, torch.tensor([2.0, 4.0, 6.0])) == pytest.approx(1)
    assert pearson(x, torch.tensor([1.0, 3.0, 2.0])) == pytest.approx(0.5)


def test_samples_are_scored_as_the_models_score_them(
    reference: Policy, rm: RewardModel, small_policy: Policy
) -> None:
    prompts = torch.tensor([[2, 8, 9, 10, 11, 1], [5, 15, 14, 13, 12, 1]])
    models = Models(small_policy, reference, rm)
    samples = collect(models, prompts, 3, torch.Generator().manual_seed(0))
    again = sample(small_policy, prompts, 3, generator=torch.Generator().manual_seed(0))
    prompts_rep = prompts.repeat_interleave(3, 0)
    with torch.no_grad():
        difference = response_logprobs(small_policy, prompts_rep, again) - response_logprobs(
            reference, prompts_rep, again
        )
    assert torch.equal(samples.responses, again)
    torch.testing.assert_close(samples.kl, difference.sum(1))
    torch.testing.assert_close(samples.proxy, score(rm, prompts_rep, again))


def test_family_evaluation(reference: Policy, rm: RewardModel) -> None:
    records = read_jsonl(TASK / "data" / "prompts_train.jsonl")
    seen: list[tuple[int, int]] = []
    result = evaluate_families(
        Models(reference, reference, rm), records, 20, 2, 0, lambda *at: seen.append(at)
    )
    assert list(result["families"]) == ["anvil", "birch", "cobalt", "dune", "ember", "fjord"]
    assert (result["prompts"], result["n"], result["seed"]) == (20, 2, 0)
    for family in result["families"].values():
        assert family["kl"] == {"mean": 0.0, "se": 0.0, "n": 40}
        assert 0 < family["proxy"]["se"] < 0.2
    mean = sum(f["proxy"]["mean"] for f in result["families"].values()) / 6
    assert result["balanced"]["proxy"]["mean"] == pytest.approx(mean)
    assert seen[-1] == (120, 120)


@pytest.mark.parametrize("run", ["policy", "runs/kl002-s1500", "runs/kl05-s800"])
def test_dev_eval_repeats_what_is_stored(run: str) -> None:
    stored = read_json(TASK / run / "dev_eval.json")
    fresh = evaluate.dev_report(f"/task/{run}")
    assert fresh.keys() == stored.keys()
    for key, value in stored.items():
        # the same machine gives the same digits; another rounds differently and may flip a token
        assert fresh[key] == (value if isinstance(value, str) else pytest.approx(value, abs=2e-2))


def test_gold_that_cannot_correlate_is_named(tmp_path: Path) -> None:
    from rlhf.errors import DataError

    gold = read_jsonl(TASK / "data" / "gold_calib.jsonl")
    write_jsonl(tmp_path / "g.jsonl", gold[:1])
    with pytest.raises(DataError, match="needs two"):
        evaluate.dev_report("/task/policy", gold=str(tmp_path / "g.jsonl"))


# -- best of n


def test_kl_bound_by_hand() -> None:
    assert bon.kl_bound(1) == 0
    assert bon.kl_bound(4) == pytest.approx(math.log(4) - 0.75)


def test_best_of_n_takes_the_best(reference: Policy, rm: RewardModel) -> None:
    records = read_jsonl(TASK / "data" / "prompts_dev.jsonl")[:5]
    rows, summary = bon.best_of_n(reference, rm, records, 8)
    assert summary["proxy_best"] > summary["proxy_first"]
    assert (summary["n"], summary["prompts"]) == (8, 5)
    prompts = evaluate.prompts_tensor(rows)
    rescored = score(rm, prompts, evaluate.responses_tensor(rows))
    assert rescored.tolist() == pytest.approx([row["score"] for row in rows], abs=1e-5)
    assert sum(row["score"] for row in rows) / 5 == pytest.approx(summary["proxy_best"])
    single, one = bon.best_of_n(reference, rm, records, 1)
    assert one["proxy_best"] == one["proxy_first"] and single[0]["id"] == records[0]["id"]


# -- reward-model training


def test_reward_model_learns_a_plain_rule(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Labels are the share of `ba`: a fit that ignores the response has an MSE near 0.06."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for index in range(256):
        tokens = ["ba" if bit else "ke" for bit in torch.randint(2, (8,), generator=generator)]
        label = tokens.count("ba") / 8
        rows.append(
            {"family": "dune", "attrs": [index % 8] * 4, "response": tokens, "label": label}
        )
    write_jsonl(tmp_path / "d.jsonl", rows)
    arguments = ["--data", str(tmp_path / "d.jsonl"), "--out", str(tmp_path / "rm")]
    assert train_rm.main([*arguments, "--epochs", "60"]) == 0
    assert capsys.readouterr().out == ""
    rm, _ = load_rm(str(tmp_path / "rm"))
    scores = score(rm, evaluate.prompts_tensor(rows), evaluate.responses_tensor(rows))
    labels = torch.tensor([row["label"] for row in rows])
    assert (scores - labels).square().mean() < 0.005
    assert train_rm.main([*arguments[:2], "--out", str(tmp_path / "again"), "--epochs", "60"]) == 0
    weights = "rm.safetensors"
    assert (tmp_path / "rm" / weights).read_bytes() == (tmp_path / "again" / weights).read_bytes()


@pytest.mark.parametrize(
    ("rows", "extra", "code", "named"),
    [
        pytest.param([], [], 3, "d.jsonl holds no records", id="zero rows"),
        pytest.param([{"family": "dune"}], [], 3, "d.jsonl: record 1", id="bad record"),
        pytest.param([], ["--epochs", "0"], 2, "epochs", id="no epochs"),
        pytest.param([], ["--lr", "nan"], 2, "lr", id="lr nan"),
    ],
)
def test_reward_model_errors_are_one_line(
    tmp_path: Path,
    rows: list[dict[str, object]],
    extra: list[str],
    code: int,
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_jsonl(tmp_path / "d.jsonl", rows)
    arguments = ["--data", str(tmp_path / "d.jsonl"), "--out", str(tmp_path / "rm"), *extra]
    assert train_rm.main(arguments) == code
    errors = capsys.readouterr().err
    assert named in errors and errors.count("\n") == 1
    assert not (tmp_path / "rm").exists()


def test_a_gold_file_at_fault_is_named_and_one_prompt_is_enough(tmp_path: Path) -> None:
    prompts = read_jsonl(TASK / "data" / "prompts_dev.jsonl")[:2]
    write_jsonl(tmp_path / "two.jsonl", prompts)
    write_jsonl(tmp_path / "one.jsonl", prompts[:1])
    with pytest.raises(DataError, match=r"two\.jsonl: record 1 .*no 'response'"):
        evaluate.dev_report("/task/policy", gold=str(tmp_path / "two.jsonl"))
    report = evaluate.dev_report("/task/policy", prompts=str(tmp_path / "one.jsonl"))
    assert report["n_prompts"] == 1 and math.isnan(report["proxy_std"])


# -- commands


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=os.environ, capture_output=True, text=True
    )


def test_evaluate_command_prints_json_and_progress(tmp_path: Path) -> None:
    out = tmp_path / "e.json"
    arguments = ("--policy", "/task/policy", "--per-family", "4", "--n", "2", "--out", str(out))
    done = run("rlhf.evaluate", *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == read_json(out)
    assert done.stderr.splitlines()[-1] == "progress 24/24"


def test_bon_command(tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    done = run(
        "rlhf.bon", "--policy", "/task/policy", "--n", "4", "--limit", "6", "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["prompts"] == 6
    assert len(read_jsonl(out)) == 6


@pytest.mark.parametrize(
    ("module", "arguments", "code"),
    [
        ("rlhf.bon", ["--policy", "/nowhere", "--n", "2"], 3),
        ("rlhf.bon", ["--policy", "/task/policy", "--n", "0"], 2),
        ("rlhf.evaluate", ["--policy", "/task/policy", "--per-family", "1"], 2),
        ("rlhf.evaluate", ["--policy", "/task/policy", "--prompts", "/nowhere"], 3),
    ],
)
def test_command_errors_are_one_line(module: str, arguments: list[str], code: int) -> None:
    done = run(module, *arguments)
    assert done.returncode == code and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
