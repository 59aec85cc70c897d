"""The settings of a training run: names, defaults and what each may be. No torch here.

Everything that launches a run validates with `resolve` first, so that a mistake costs nothing.
"""

import json
import math
import numbers
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

from .errors import ConfigError
from .vocab import FAMILIES, nearest

TASK_PREFIX = "/task"


@dataclass(frozen=True)
class RLConfig:
    """One training run. Paths that start with /task are moved to the folder TASK names."""

    policy_init: str | None = None  # folder to start from; null = policy_ref
    policy_ref: str = "/task/policy"  # folder that KL is measured against
    reward_model: str = "/task/reward_model"
    prompt_file: str = "/task/data/prompts_train.jsonl"
    family_weights: dict[str, float] | None = None  # null = equal over the families present
    kl_coef: float = 0.1  # per nat of per-sequence k1
    steps: int = 800  # updates
    batch_prompts: int = 16  # B
    samples_per_prompt: int = 8  # n
    lr: float = 3e-4  # Adam
    temperature: float = 1.0  # of sampling; log-probabilities stay at 1
    seed: int = 0
    log_every: int = 20  # steps
    save_every: int = 0  # steps; 0 = no checkpoints
    reward_wrapper: str | None = None  # Python file with transform()
    max_grad_norm: float = 1.0


DEFAULTS: dict[str, Any] = asdict(RLConfig())
KEYS = [field.name for field in fields(RLConfig)]


def task_dir() -> str:
    """The task folder: environment variable TASK, else /task."""
    return os.environ.get("TASK") or TASK_PREFIX


_one_task = threading.RLock()


@contextmanager
def task_at(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let TASK name `folder` in the block, in one thread at a time."""
    with _one_task:
        before = os.environ.get("TASK")
        os.environ["TASK"] = os.fspath(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ["TASK"]
            else:
                os.environ["TASK"] = before


def task_path(path: str) -> str:
    """`path`, moved to TASK if it is /task or under it and does not already lie in TASK."""
    task = task_dir().rstrip("/") or "/"
    inside = path == task or path.startswith(task + "/")
    if inside or not (path == TASK_PREFIX or path.startswith(TASK_PREFIX + "/")):
        return path
    return task + path[len(TASK_PREFIX) :]


def number(name: str, value: Any, low: float = 0.0, strict: bool = False) -> float:
    """`value` as a finite float >= low (> low if strict), or ConfigError naming `name`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(f"{name} must be a number, found {value!r:.80}")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ConfigError(f"{name} must be finite, found {value}")
    if value < low or (strict and value == low):
        bound = "greater than" if strict else "at least"
        raise ConfigError(f"{name} must be {bound} {low:g}, found {value:g}")
    return value


def integer(name: str, value: Any, low: int = 0) -> int:
    """`value` as an int >= low, or ConfigError naming `name`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ConfigError(f"{name} must be an integer, found {value!r:.80}")
    value = int(value)
    if value < low:
        raise ConfigError(f"{name} must be at least {low}, found {value}")
    if value >= 2**63:
        raise ConfigError(f"{name} must be below 2^63, found {value!r:.40}")
    return value


def _path(name: str, value: Any) -> str:
    text = str(value)
    if not isinstance(value, str | os.PathLike) or not text.strip() or "\0" in text:
        raise ConfigError(f"{name} must be a path, found {value!r:.80}")
    return task_path(os.fspath(value))


def _weights(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"{name} must map families to weights, found {value!r:.80}")
    for family in value:
        if family not in FAMILIES:
            raise ConfigError(f"{name}: unknown family {family!r:.40}{nearest(family, FAMILIES)}")
    weights = {family: number(f"{name}.{family}", weight) for family, weight in value.items()}
    if not any(weights.values()):
        raise ConfigError(f"{name} must give at least one family a weight above 0")
    return weights


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "policy_init": _path,
    "policy_ref": _path,
    "reward_model": _path,
    "prompt_file": _path,
    "family_weights": _weights,
    "kl_coef": number,
    "steps": integer,
    "batch_prompts": lambda name, value: integer(name, value, low=1),
    # the group's mean is the baseline, so a group of one would have no advantage at all
    "samples_per_prompt": lambda name, value: integer(name, value, low=2),
    "lr": lambda name, value: number(name, value, strict=True),
    "temperature": lambda name, value: number(name, value, strict=True),
    "seed": integer,
    "log_every": lambda name, value: integer(name, value, low=1),
    "save_every": integer,
    "reward_wrapper": _path,
    "max_grad_norm": lambda name, value: number(name, value, strict=True),
}


def resolve(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The full, checked settings: defaults filled in (null means default), /task paths moved.

    Idempotent. Raises ConfigError naming the key, and for an unknown key the nearest known one.
    """
    if not isinstance(cfg, Mapping):
        raise ConfigError(f"settings must be a JSON object, found {type(cfg).__name__}")
    for key in cfg:
        if key not in DEFAULTS:
            raise ConfigError(f"unknown setting {key!r:.60}{nearest(key, KEYS)}")
    resolved = {}
    for key, default in DEFAULTS.items():
        value = default if cfg.get(key) is None else cfg[key]
        resolved[key] = None if value is None else _CHECKS[key](key, value)
    return resolved


def parse_override(text: str) -> tuple[str, Any]:
    """(key, value) of `key=json_value`; a value that is not JSON is the string itself."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"override {text!r:.60} must be key=value")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
