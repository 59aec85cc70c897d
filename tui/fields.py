"""The fields of a run: key, unit, meaning, where to read it. One table for all who show them.

The runs list, its sorting and columns, the filter language, CSV and the explain key use it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rlhf.vocab import FAMILIES, nearest

Run = dict[str, Any]
K1 = "per-sequence k1 estimate of KL to the reference, in nats, on the policy's own samples"
PROXY = "raw reward-model score, mean over the policy's own samples"
MEASURED = "200 fixed prompts a family from prompts_train, 4 samples each, seed 0"
PILOT = "prompts_dev, the pilot mix, as eval/dev_eval.py measured it"
UNMEASURED = "not measured yet: a run is measured when its final weights are there"


@dataclass(frozen=True)
class Field:
    """One fact of a run. `get` gives its value, None where it is missing."""

    key: str
    group: str  # heading over neighbouring columns
    title: str
    unit: str
    meaning: str
    source: str
    absent: str  # why it may be empty
    get: Callable[[Run], Any]
    error: Callable[[Run], Any] | None = None  # its standard error
    count: Callable[[Run], Any] | None = None  # samples behind it


def dig(run: Run, *path: str) -> Any:
    """The value at `path` in nested mappings; None where the path ends early."""
    value: Any = run
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _at(*path: str) -> Callable[[Run], Any]:
    if len(path) == 1:
        return partial(_top, path[0])
    return lambda run: dig(run, *path)


def _top(key: str, run: Run) -> Any:
    return run.get(key)


def _config(key: str, title: str, unit: str, meaning: str, group: str = "") -> Field:
    absent = "its run_config.json does not say (the reference was not trained by RL)"
    return Field(key, group, title, unit, meaning, "run_config.json", absent, _at(key))


def _record(key: str, title: str, meaning: str) -> Field:
    return Field(key, "", title, "", meaning, "the run's records", "never recorded", _at(key))


def _dev(metric: str, title: str, unit: str, meaning: str) -> Field:
    absent = "the run has no dev_eval.json"
    return Field(f"dev.{metric}", "dev", title, unit, meaning, PILOT, absent, _at("dev", metric))


def _balanced(metric: str, title: str, unit: str, meaning: str) -> Field:
    return Field(
        f"balanced.{metric}",
        "balanced",
        title,
        unit,
        f"{meaning}; every family weighs the same",
        MEASURED,
        UNMEASURED,
        _at("balanced", metric),
        _at("balanced", f"{metric}_se"),
        _at("balanced", "n"),
    )


def _family(family: str, metric: str, title: str, unit: str, meaning: str) -> Field:
    parts = [_at("families", family, metric, part) for part in ("mean", "se", "n")]
    return Field(f"{family}.{metric}", family, title, unit, meaning, MEASURED, UNMEASURED, *parts)


def _train(key: str, title: str, unit: str, meaning: str) -> Field:
    return Field(
        f"train.{key}",
        "train",
        title,
        unit,
        f"{meaning}; mean since the row before",
        "the last row of log.jsonl",
        "the run has no log row yet, or the number was not finite",
        _at("train", key),
    )


def _all_fields() -> Iterator[Field]:
    yield _record("state", "state", "what the run is doing, from the evidence in its folder")
    yield _record("name", "name", "the run's name")
    yield _config("kl_coef", "coef", "per nat", "KL coefficient: the price of a nat of KL", "KL")
    yield _config("steps", "steps", "updates", "updates the run was to make")
    yield _config("mix", "mix", "share", "share of the training prompts each family gets")
    yield _config("wrapper", "wrapper", "", "the reward wrapper's file")
    yield _config("seed", "seed", "", "seed of the run")
    metrics = (("proxy", "proxy", "RM score", PROXY), ("kl", "KL", "nats", K1))
    for metric in metrics:
        yield _dev(*metric)
    for metric in metrics:
        yield _balanced(*metric)
    for family in FAMILIES:
        for metric in metrics:
            yield _family(family, *metric)
    yield _train("proxy_reward", "proxy", "RM score", PROXY)
    yield _train("kl", "KL", "nats", K1)
    yield _train("shaped_reward", "shaped", "RM score", "reward after wrapper and KL price")
    yield _train("entropy", "entropy", "nats", "mean entropy of a token")
    yield _train("loss", "loss", "", "policy-gradient loss")
    yield _config("step", "step", "updates", "updates completed at the last log row")
    yield _record("id", "id", "the run's id")
    yield _record("source", "source", "shipped with the task, of this workspace, or added")
    yield _record("kind", "kind", "what the record describes")
    yield _record("reason", "reason", "why the run is in its state")
    yield _record("parent", "parent", "the run it was cloned from")
    yield _record("sweep", "sweep", "the sweep it belongs to")
    yield _record("tags", "tags", "tags given by an operator")
    yield _record("quality", "quality", "estimate of true quality")
    yield _record("verdict", "verdict", "the recorded decision: ship or hold")
    yield _record("verdict_stale", "stale", "the checkpoint changed since the decision")
    yield _record("nonfinite", "nonfinite", "metrics that were NaN or infinite")
    yield _record("created", "created", "when it was created, UTC")
    yield _record("started", "started", "when it started, UTC")
    yield _record("ended", "ended", "when it ended, UTC")


FIELDS = {field.key: field for field in _all_fields()}
ALIASES = {
    "kl": "kl_coef",
    "train.proxy": "train.proxy_reward",
    "train.shaped": "train.shaped_reward",
}
_ROOTS = ("balanced", "eval", "mix", "train", "families")
_METRICS = ("proxy", "kl")


def getter(name: str) -> Callable[[Run], Any]:
    """How to read the field `name` of a run. Raises KeyError naming the nearest field."""
    key = ALIASES.get(name.lower(), name.lower())
    if key in FIELDS:
        return FIELDS[key].get
    path = tuple(key.removeprefix("families.").split("."))
    if path[0] in FAMILIES and len(path) == 2 and path[1] in _METRICS:
        return FIELDS[".".join(path)].get
    if path[0] in FAMILIES and len(path) == 3 and path[1] in _METRICS:
        if path[2] in ("mean", "se", "n"):
            return _at("families", *path)
    elif path[0] in _ROOTS and len(path) > 1:
        return _at(*path)
    raise KeyError(f"unknown field {name!r:.40}{nearest(key, [*FIELDS, *ALIASES])}")
