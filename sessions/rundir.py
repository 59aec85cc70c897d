"""One run folder, read into the facts that `runs --json` lists. Writes nothing."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlhf.config import DEFAULTS, task_at, task_path
from rlhf.runlog import CONFIG_NAME, DONE_NAME, LOG_NAME, finite_or_null

from .evidence import judge
from .paths import RUN_RECORD
from .runfiles import DEV_NAME, Problem, last_rows, mtime, number, read_object, text, utc

TRAIN_METRICS = ("proxy_reward", "kl", "shaped_reward", "entropy", "loss")
WRAPPER_KEY = "reward_wrapper"
WRAPPER_SHA256 = "reward_wrapper_sha256"

Run = dict[str, Any]


def shares(weights: Any, families: list[str]) -> dict[str, float] | None:
    """The share of the prompts that each family gets, in the order of `families`."""
    if not isinstance(weights, Mapping):
        return {family: 1 / len(families) for family in families} if families else None
    known = {family: number(weights.get(family)) or 0.0 for family in families}
    total = sum(known.values())
    if not 0 < total < math.inf:
        return None
    return {family: weight / total for family, weight in known.items() if weight > 0}


def read_run(folder: Path, source: str, families: list[str], problems: list[Problem]) -> Run:
    """The facts of one run; evaluations and meta are added by the catalogue.

    `families` are those of its prompts. What cannot be read is null and named in `problems`.
    """
    record = read_object(folder / RUN_RECORD, problems)
    config = read_object(folder / CONFIG_NAME, problems) or _planned(record)
    done = read_object(folder / DONE_NAME, problems)
    rows = last_rows(folder / LOG_NAME)
    state, reason = judge(folder, record, done, rows)
    record = record or {}
    return {
        "id": folder.name,
        "kind": "run",
        "name": text(record.get("name")) or folder.name,
        "source": source,
        "state": state,
        "reason": reason,
        **_training(config, rows, families),
        "wrapper": wrapper_of(record, config),
        **{key: text(record.get(key)) for key in ("parent", "sweep")},
        "tags": [],
        **_times(folder, source, record, done),
        "dev": _dev(folder, problems),
        "eval": None,
        "balanced": None,
        "families": {},
        "train": finite_or_null(rows[-1]) if rows else None,
        "quality": None,
        "verdict": None,
        "verdict_stale": None,
        "nonfinite": _nonfinite(rows[-1]) if rows else [],
    }


def recipe(folder: Path, task: Path) -> str | None:
    """A digest of a run's settings but for the seed: runs that share it are seeds of one.

    None for a replay: it is its original once more, not another seed.
    """
    config = read_object(folder / CONFIG_NAME, [])
    record = read_object(folder / RUN_RECORD, []) or {}
    if config is None or record.get("replay_of"):
        return None
    given = {key: value for key, value in config.items() if value is not None}
    rest = _placed({**DEFAULTS, **given}, task)
    rest.pop("seed", None)
    copied = _copied(record, config)
    if copied:  # each run has a copy of its own
        rest["reward_wrapper"] = copied.get("sha256")
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def settings(folder: Path, task: Path | None = None) -> dict[str, Any] | None:
    """The settings of a run, of one that has not begun those on record; None if it has none.

    With `task`, one file has one name: paths under /task are those in it, and a copied wrapper is
    the file it was copied from, with the copy's sha256 beside it.
    """
    record = read_object(folder / RUN_RECORD, [])
    config = read_object(folder / CONFIG_NAME, []) or _planned(record)
    if config is None or task is None:
        return config
    copied = _copied(record or {}, config)
    named = {WRAPPER_KEY: wrapper_of(record or {}, config)} if copied else {}
    contents = {WRAPPER_SHA256: text(copied.get("sha256"))} if copied else {}
    return _placed({**config, **named, **contents}, task)


def _placed(config: Mapping[str, Any], task: Path) -> dict[str, Any]:
    """Settings whose paths under /task are moved to the folder `task`."""
    with task_at(task.absolute()):
        return {key: task_path(v) if isinstance(v, str) else v for key, v in config.items()}


def _planned(record: Run | None) -> dict[str, Any] | None:
    """The settings of a run that has not begun, and so has not written them itself."""
    config = (record or {}).get("config")
    return config if isinstance(config, dict) else None


def _training(
    config: dict[str, Any] | None, rows: list[dict[str, Any]], families: list[str]
) -> dict[str, Any]:
    step = number(rows[-1].get("step")) if rows else 0
    if config is None:
        empty = dict.fromkeys(("steps", "kl_coef", "mix", "seed"))
        return {"step": step, **empty}
    full = {**DEFAULTS, **{key: value for key, value in config.items() if value is not None}}
    return {
        "step": step,
        "steps": number(full["steps"]),
        "kl_coef": number(full["kl_coef"]),
        "mix": shares(full["family_weights"], families),
        "seed": number(full["seed"]),
    }


def wrapper_of(record: Mapping[str, Any], config: Mapping[str, Any] | None) -> str | None:
    """The file that a run's wrapper was copied from, else the file that its settings name."""
    used = text((config or {}).get("reward_wrapper"))
    return text(_copied(record, config or {}).get("source")) or used


def _copied(record: Mapping[str, Any], config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is on record of the copy that a run's wrapper is; empty if it is none."""
    inputs = record.get("inputs")
    copied = inputs.get("reward_wrapper") if isinstance(inputs, Mapping) else None
    used = text(config.get("reward_wrapper"))
    ours = isinstance(copied, Mapping) and used is not None and copied.get("path") == used
    return copied if ours and isinstance(copied, Mapping) else {}


def wrapper_source(path: str) -> str:
    """The file that a wrapper was copied from if `path` is a run's own copy, else `path`."""
    record = read_object(Path(path).parent / RUN_RECORD, [])
    return wrapper_of(record or {}, {"reward_wrapper": path}) or path


def _times(
    folder: Path, source: str, record: dict[str, Any], done: dict[str, Any] | None
) -> dict[str, str | None]:
    """created, started, ended. Shipped files carry the time of their copying, so: null."""
    if source == "shipped":
        return dict.fromkeys(("created", "started", "ended"))
    ended = mtime(folder / DONE_NAME) if done else None
    wall = number(done.get("wall_s")) if done else None
    began = ended - wall if ended is not None and wall is not None else None
    configured = mtime(folder / CONFIG_NAME)
    return {
        "created": text(record.get("created")) or utc(configured),
        "started": text(record.get("started")) or utc(began if began is not None else configured),
        "ended": utc(ended),
    }


def _dev(folder: Path, problems: list[Problem]) -> dict[str, Any] | None:
    stored = read_object(folder / DEV_NAME, problems)
    if stored is None:
        return None
    return {"proxy": number(stored.get("proxy_mean")), "kl": number(stored.get("kl_mean"))}


def _nonfinite(row: Mapping[str, Any]) -> list[str]:
    """Metrics of the last row that are there but are no finite number."""
    bad = [f"train.{key}" for key in TRAIN_METRICS if key in row and number(row[key]) is None]
    families = row.get("families")
    for family, values in families.items() if isinstance(families, Mapping) else ():
        if isinstance(values, Mapping) and values.get("n") != 0:  # else none was drawn
            bad += [
                f"train.{family}.{short}"
                for key, short in (("proxy_reward", "proxy"), ("kl", "kl"))
                if key in values and number(values[key]) is None
            ]
    return bad
