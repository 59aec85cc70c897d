"""A run that is resumed equals one that never stopped, or is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from short_runs import QUICK, receipt, same

from rlhf import runlog
from rlhf.errors import CheckpointError, ConfigError, StoppedError
from rlhf.train_rl import train


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
