"""The folder of one training run: begun, checkpointed, resumed, and closed with a receipt."""

import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .checkpoint import CONFIG, load_weights, read_tensors, write_tensors
from .config import RLConfig
from .errors import CheckpointError, ConfigError
from .metrics import Window
from .model import WEIGHTS, Policy, save_policy
from .runlog import (
    CHECKPOINTS_NAME,
    CONFIG_NAME,
    DONE_NAME,
    LOG_NAME,
    canonical_sha256,
    dumps,
    read_json,
    read_log,
    replace_file,
    write_done,
    write_json,
)

TRAINER_WEIGHTS = "trainer.safetensors"
TRAINER_FACTS = "trainer.json"
_MAY_CHANGE = ("steps", "save_every")  # settings that a resumed run may have otherwise
_STEP = re.compile(r"step-([0-9]+)")
_PARTIAL = ".partial-"  # and the process: a checkpoint being written


@dataclass
class State:
    """All that the next step depends on, besides the settings."""

    policy: Policy
    optimiser: torch.optim.Adam
    step: int = 0  # completed updates
    whole: bool = True  # not in the middle of one: policy, step and window belong together
    window: Window = field(default_factory=Window)
    elapsed_s: float = 0.0


def holds_run(out: Path) -> bool:
    """Whether a folder holds a log, a checkpoint or a model that starting anew would lose."""
    names = (LOG_NAME, WEIGHTS, CONFIG)
    return any((out / name).exists() for name in names) or bool(checkpoints(out))


def checkpoints(out: Path) -> list[Path]:
    """The complete checkpoints of a run, the last one last; what else lies there is passed over."""
    names = (WEIGHTS, CONFIG, TRAINER_WEIGHTS, TRAINER_FACTS)
    found = [path for path in (out / CHECKPOINTS_NAME).glob("step-*") if _STEP.fullmatch(path.name)]
    whole = [path for path in found if all((path / name).is_file() for name in names)]
    return sorted(whole, key=lambda path: int(path.name.removeprefix("step-")))


def begin(out: Path, config: RLConfig) -> None:
    """Make `out` the folder of a new run, replacing whatever run it held.

    Raises ConfigError if it is a folder that the run reads from.
    """
    for name, read in (("policy_ref", config.policy_ref), ("reward_model", config.reward_model)):
        if out.resolve() == Path(read).resolve():
            raise ConfigError(f"{out} is this run's {name}: choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    for name in (DONE_NAME, LOG_NAME, WEIGHTS, CONFIG):
        (out / name).unlink(missing_ok=True)
    shutil.rmtree(out / CHECKPOINTS_NAME, ignore_errors=True)
    write_json(out / CONFIG_NAME, asdict(config))


def resume(out: Path, config: RLConfig, state: State) -> None:
    """Bring `state` to the last complete checkpoint of `out`, and the log back to that step.

    A run killed before its first checkpoint starts at step 0. Raises ConfigError if the run was
    made under other settings, CheckpointError if a checkpoint is damaged.
    """
    if not (out / CONFIG_NAME).exists():
        if holds_run(out):  # of whatever settings: nothing may be continued, nor lost
            raise ConfigError(f"cannot resume {out}: it has no {CONFIG_NAME}")
        return begin(out, config)
    _check_same_settings(out / CONFIG_NAME, config)
    saved = checkpoints(out)
    if saved:
        _load_state(saved[-1], state)
    if state.step > config.steps:
        raise ConfigError(f"cannot resume {out}: it is at step {state.step} of {config.steps}")
    for leftover in (out / CHECKPOINTS_NAME).glob(f"{_PARTIAL}*"):  # of a run that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    (out / DONE_NAME).unlink(missing_ok=True)
    write_json(out / CONFIG_NAME, asdict(config))
    return _trim_log(out / LOG_NAME, state.step, config.log_every)


def _check_same_settings(path: Path, config: RLConfig) -> None:
    before = read_json(path)
    for key, value in asdict(config).items():
        if key not in _MAY_CHANGE and before.get(key) != value:
            raise ConfigError(
                f"cannot resume {path.parent}: {key} was {before.get(key)!r}, is now {value!r}"
            )


def _trim_log(path: Path, step: int, log_every: int) -> None:
    """Keep the rows that a run stopped at `step` had written, and no closing row."""
    if path.exists():
        rows = [row for row in read_log(path).rows if _belongs(row.get("step"), step, log_every)]
        replace_file(path, "".join(dumps(row) + "\n" for row in rows).encode())


def _belongs(row_step: Any, step: int, log_every: int) -> bool:
    return isinstance(row_step, int) and row_step <= step and row_step % log_every == 0


def save_state(out: Path, state: State) -> Path:
    """Write checkpoints/step-000400/ whole or not at all; returns it."""
    parent = out / CHECKPOINTS_NAME
    final = parent / f"step-{state.step:06d}"
    if final.exists():
        return final
    parent.mkdir(exist_ok=True)
    partial = parent / f"{_PARTIAL}{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        save_policy(state.policy, state.policy.cfg, str(partial))
        write_tensors(partial / TRAINER_WEIGHTS, _trainer_tensors(state))
        write_json(partial / TRAINER_FACTS, {"step": state.step, "elapsed_s": state.elapsed_s})
        partial.rename(final)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return final


def _trainer_tensors(state: State) -> dict[str, Tensor]:
    tensors = {"window": state.window.sums}
    for name, parameter in state.policy.named_parameters():
        for key, value in state.optimiser.state[parameter].items():
            tensors[f"{key}/{name}"] = value
    return tensors


def _load_state(checkpoint: Path, state: State) -> None:
    load_weights(state.policy, checkpoint, WEIGHTS)
    tensors, facts = (
        read_tensors(checkpoint / TRAINER_WEIGHTS),
        read_json(checkpoint / TRAINER_FACTS),
    )
    try:
        state.window = Window(tensors.pop("window"))
        state.step, state.elapsed_s = int(facts["step"]), float(facts["elapsed_s"])
        for name, parameter in state.policy.named_parameters():
            keys = ("step", "exp_avg", "exp_avg_sq")
            state.optimiser.state[parameter] = {key: tensors[f"{key}/{name}"] for key in keys}
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{checkpoint} is not a complete checkpoint: {error}") from error


def close(out: Path, state: State, outcome: str, reason: str | None, by: str) -> None:
    """Write the receipt: the last act of a run, whatever its end."""
    names = (CONFIG_NAME, LOG_NAME, WEIGHTS, CONFIG)
    artefacts = {name: canonical_sha256(out / name) for name in names if (out / name).exists()}
    receipt = {
        "outcome": outcome,
        "reason": reason,
        "by": by,
        "steps": state.step,
        "wall_s": round(state.elapsed_s, 3),
        "artifacts": artefacts,
    }
    write_done(out, receipt)


def refuse(out: Path, reason: str) -> None:
    """The receipt of a run that failed before its first step, for whoever prepared its folder."""
    receipt = {"outcome": "failed", "reason": reason, "by": "the run"}
    write_done(out, {**receipt, "steps": 0, "wall_s": 0.0, "artifacts": {}})
