"""A training run from end to end: what it writes, how it ends, and that it can be repeated."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from conftest import ROOT, TASK

from rlhf import runfolder, runlog
from rlhf.data import read_jsonl, write_jsonl
from rlhf.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    StoppedError,
    TrainingError,
    WrapperError,
)
from rlhf.train_rl import main, train

QUICK = {"steps": 12, "log_every": 4, "batch_prompts": 4, "samples_per_prompt": 4}


def rows_of(out: Path) -> list[dict[str, Any]]:
    rows = runlog.read_log(out / "log.jsonl").rows
    return [{k: v for k, v in row.items() if k != "elapsed_s"} for row in rows]


def same(a: Path, b: Path) -> bool:
    weights = "policy.safetensors"
    return (a / weights).read_bytes() == (b / weights).read_bytes() and rows_of(a) == rows_of(b)


def receipt(out: Path) -> dict[str, Any]:
    return runlog.read_json(out / "done.json")


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


@pytest.mark.parametrize("until", [3, 8, 11])
def test_resuming_equals_never_having_stopped(tmp_path: Path, until: int) -> None:
    cfg = {**QUICK, "save_every": 3}
    train(cfg, tmp_path / "whole", quiet=True)
    asked = iter([None] * until + ["SIGTERM"])
    with pytest.raises(StoppedError, match=f"after step {until}"):
        train(cfg, tmp_path / "parts", quiet=True, should_stop=lambda: next(asked))
    assert receipt(tmp_path / "parts")["outcome"] == "stopped"
    assert (tmp_path / "parts" / "checkpoints" / f"step-{until:06d}").is_dir()
    train(cfg, tmp_path / "parts", quiet=True, resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")
    assert receipt(tmp_path / "parts")["outcome"] == "finished"


def test_resuming_with_more_steps_equals_having_asked_for_them(tmp_path: Path) -> None:
    train({**QUICK, "steps": 12, "save_every": 5}, tmp_path / "whole", quiet=True)
    train({**QUICK, "steps": 10, "save_every": 5}, tmp_path / "parts", quiet=True)
    train({**QUICK, "steps": 12, "save_every": 5}, tmp_path / "parts", quiet=True, resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_a_run_killed_before_any_checkpoint_starts_over(tmp_path: Path) -> None:
    train(QUICK, tmp_path / "whole", quiet=True)
    train({**QUICK, "steps": 8}, tmp_path / "parts", quiet=True)
    train(QUICK, tmp_path / "parts", quiet=True, resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_resuming_under_other_settings_is_refused(tmp_path: Path) -> None:
    train({**QUICK, "save_every": 6}, tmp_path, quiet=True)
    with pytest.raises(ConfigError, match="kl_coef was 0.1, is now 0.2"):
        train({**QUICK, "save_every": 6, "kl_coef": 0.2}, tmp_path, quiet=True, resume=True)


def test_resuming_passes_over_what_is_no_complete_checkpoint(tmp_path: Path) -> None:
    cfg = {**QUICK, "save_every": 4}
    train(cfg, tmp_path / "whole", quiet=True)
    train(cfg, tmp_path / "parts", quiet=True)
    kept = tmp_path / "parts" / "checkpoints"
    for name in ("step-abc", "step-", "step-000012.bak", "step-1_6", "step-000099", ".partial-1"):
        (kept / name).mkdir()
    (kept / "step-000050").write_text("a file")
    train(cfg, tmp_path / "parts", quiet=True, resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")
    assert not (kept / ".partial-1").exists() and (kept / "step-abc").exists()


def test_resuming_to_an_earlier_step_is_refused(tmp_path: Path) -> None:
    train({**QUICK, "save_every": 6}, tmp_path, quiet=True)
    before = (tmp_path / "done.json").read_bytes()
    with pytest.raises(ConfigError, match="step 12 of 9"):
        train({**QUICK, "save_every": 6, "steps": 9}, tmp_path, quiet=True, resume=True)
    assert (tmp_path / "done.json").read_bytes() == before


def test_resuming_without_the_settings_loses_nothing(tmp_path: Path) -> None:
    train({**QUICK, "save_every": 6}, tmp_path, quiet=True)
    (tmp_path / "run_config.json").unlink()
    with pytest.raises(ConfigError, match=r"no run_config\.json"):
        train({**QUICK, "save_every": 6}, tmp_path, quiet=True, resume=True)
    assert (tmp_path / "checkpoints" / "step-000012").is_dir()


@pytest.mark.parametrize("where", ["adam", "log"])
def test_a_step_that_was_cut_in_two_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Ctrl-C just after the update, and a disk that is full for the log row alone."""
    cfg = {**QUICK, "save_every": 3}
    train(cfg, tmp_path / "whole", quiet=True)
    calls: list[int] = []

    def interrupted(real: Callable[..., Any], at: int) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            calls.append(1)
            result = None if where == "log" and len(calls) == at else real(*args, **more)
            if len(calls) == at:
                raise KeyboardInterrupt if where == "adam" else OSError(28, "No space left")
            return result

        return call

    with monkeypatch.context() as patch:
        if where == "adam":
            patch.setattr(torch.optim.Adam, "step", interrupted(torch.optim.Adam.step, 8))
        else:
            patch.setattr("rlhf.train_rl.append_row", interrupted(runlog.append_row, 2))
        with pytest.raises((KeyboardInterrupt, OSError)):
            train(cfg, tmp_path / "parts", quiet=True)
    train(cfg, tmp_path / "parts", quiet=True, resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_an_incomplete_checkpoint_is_named(tmp_path: Path) -> None:
    train({**QUICK, "save_every": 6}, tmp_path, quiet=True)
    facts = tmp_path / "checkpoints" / "step-000012" / "trainer.json"
    facts.write_text("{}")
    with pytest.raises(CheckpointError, match="step-000012"):
        train({**QUICK, "save_every": 6}, tmp_path, quiet=True, resume=True)


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


# -- wrappers


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


# -- disks and kills


def test_a_full_disk_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = runfolder.write_tensors, []

    def full(path: Path, tensors: Any) -> None:
        calls.append(path)
        if len(calls) >= 2:
            raise OSError(28, "No space left on device")
        real(path, tensors)

    monkeypatch.setattr(runfolder, "write_tensors", full)
    with pytest.raises(OSError, match="No space"):
        train({**QUICK, "save_every": 3}, tmp_path, quiet=True)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000003"]
    assert receipt(tmp_path)["outcome"] == "failed"
    monkeypatch.setattr(runfolder, "write_tensors", real)
    train({**QUICK, "save_every": 3}, tmp_path, quiet=True, resume=True)
    train({**QUICK, "save_every": 3}, tmp_path / "whole", quiet=True)
    assert same(tmp_path, tmp_path / "whole")


def command(out: Path, *more: str) -> list[str]:
    (out.parent / "cfg.json").write_text(json.dumps({**QUICK, "steps": 400, "save_every": 10}))
    return [
        *(sys.executable, "-m", "rlhf.train_rl", "--config", str(out.parent / "cfg.json")),
        *("--out", str(out), "--quiet", *more),
    ]


def start(out: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(out, *more), cwd=ROOT, stderr=subprocess.PIPE)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    out, cfg = tmp_path / "out", {**QUICK, "steps": 400, "save_every": 10}
    process = start(out)
    wait_for(out / "checkpoints" / "step-000040")
    process.kill()
    process.communicate()
    assert not (out / "done.json").exists()
    train({**cfg, "steps": 60}, tmp_path / "whole", quiet=True)
    train({**cfg, "steps": 60}, out, quiet=True, resume=True)
    assert same(out, tmp_path / "whole")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_a_signal_ends_a_run_with_a_checkpoint(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "out"
    process = start(out)
    wait_for(out / "checkpoints" / "step-000010")
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    done = receipt(out)
    assert done["outcome"] == "stopped" and number.name in done["reason"]
    assert (out / "checkpoints" / f"step-{done['steps']:06d}").is_dir()
    assert errors.count(b"\n") == 1


def test_nohup_is_respected(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(["nohup", *command(out)], cwd=ROOT, stderr=subprocess.PIPE)
    wait_for(out / "checkpoints" / "step-000010")
    process.send_signal(signal.SIGHUP)
    wait_for(out / "checkpoints" / "step-000100")
    process.terminate()
    process.communicate(timeout=60)
    assert "SIGTERM" in receipt(out)["reason"]


# -- the command


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rlhf.train_rl", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def test_command_overrides_and_refuses_a_used_folder(tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps(QUICK))
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]
    first = run(*arguments, "--override", "kl_coef=0.5", "--override", "steps=4")
    assert first.returncode == 0 and first.stdout == "" and "step 4/4" in first.stderr
    assert runlog.read_json(tmp_path / "out" / "run_config.json")["kl_coef"] == 0.5
    again = run(*arguments)
    assert again.returncode == 2 and "--resume" in again.stderr


@pytest.mark.parametrize("name", ["policy", "reward_model"])
def test_a_folder_with_a_model_in_it_is_no_place_for_a_run(tmp_path: Path, name: str) -> None:
    """The folder of a model is easily given for --out; nothing of it may be lost."""
    shutil.copytree(TASK / name, tmp_path / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    (tmp_path / "cfg.json").write_text(json.dumps({**QUICK, "steps": 1}))
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / name)]
    assert main(arguments) == main([*arguments, "--resume"]) == 2
    key = {"policy": "policy_ref"}.get(name, name)
    with pytest.raises(ConfigError, match=f"is this run's {key}"):
        train({**QUICK, key: tmp_path / name}, tmp_path / name, quiet=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} == before


@pytest.mark.parametrize(
    ("content", "override", "code", "named"),
    [
        pytest.param('{"stepz": 3}', None, 2, "'steps'", id="unknown key"),
        pytest.param("{", None, 2, "not valid JSON", id="no JSON"),
        pytest.param("[]", None, 2, "JSON object", id="a list"),
        pytest.param("{}", "kl_coef=high", 2, "kl_coef", id="override of the wrong type"),
        pytest.param("{}", "policy_ref=/nowhere", 3, "/nowhere", id="missing policy"),
    ],
)
def test_command_errors_are_one_line(
    tmp_path: Path,
    content: str,
    override: str | None,
    code: int,
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "cfg.json").write_text(content)
    arguments = ["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]
    assert main([*arguments, *(["--override", override] if override else [])]) == code
    captured = capsys.readouterr()
    assert named in captured.err and captured.err.count("\n") == 1 and not captured.out
    assert not (tmp_path / "out").exists()


def test_a_prepared_folder_learns_why_its_run_could_not_begin(tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps({**QUICK, "reward_model": "/nowhere"}))
    (tmp_path / "out").mkdir()
    assert main(["--config", str(tmp_path / "cfg.json"), "--out", str(tmp_path / "out")]) == 3
    done = receipt(tmp_path / "out")
    assert done["outcome"] == "failed" and "/nowhere" in done["reason"] and done["steps"] == 0
