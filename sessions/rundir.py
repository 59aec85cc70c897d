"""One run folder, read into the facts that `runs --json` lists. Writes nothing."""

import json
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rlhf.config import DEFAULTS
from rlhf.runlog import CONFIG_NAME, DONE_NAME, LOG_NAME, finite_or_null, parse_lines

from .paths import RUN_RECORD, Workspace
from .states import Evidence, State, derive

POLICY_NAME = "policy.safetensors"
DEV_NAME = "dev_eval.json"
MAX_JSON_BYTES = 1 << 20  # a record larger than this is not one of ours
TAIL_BYTES = 1 << 16  # enough for the last rows of a log
TRAIN_METRICS = ("proxy_reward", "kl", "shaped_reward", "entropy", "loss")

Run = dict[str, Any]
Problem = dict[str, str]


def number(value: Any) -> float | int | None:
    """`value` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def read_object(path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    """The JSON object in `path`; None if there is none, with a problem if it is damaged."""
    try:
        if not path.is_file():
            return None
        with open(path, "rb") as file:
            data = file.read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            raise ValueError(f"is larger than {MAX_JSON_BYTES} bytes")
        value = json.loads(data)
        if not isinstance(value, dict):
            raise ValueError("is not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        problems.append({"path": str(path), "message": _short(error)})
        return None
    return value


def _short(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return "is not valid JSON"
    return str(error)


def last_rows(path: Path) -> list[dict[str, Any]]:
    """The last rows of a log, those in its last 64 KiB; a torn last line is left out."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - TAIL_BYTES)
            file.seek(start)
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError:
        return []
    return parse_lines(lines[1:] if start else lines).rows


def utc(seconds: float | None) -> str | None:
    """Seconds since the epoch as UTC ISO 8601."""
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def mtime(path: Path) -> float | None:
    """When `path` was last written, in seconds since the epoch; None if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


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
        "nonfinite": _nonfinite(rows[-1]) if rows else [],
    }


def has_policy(folder: Path) -> bool:
    """Whether the run's final weights are there."""
    return (folder / POLICY_NAME).is_file()


def text(value: Any) -> str | None:
    """`value` if it is a string with something in it, else None."""
    return value if isinstance(value, str) and value.strip() else None


def gather(
    folder: Path, record: Run | None, done: dict[str, Any] | None, rows: list[dict[str, Any]]
) -> Evidence:
    """The evidence in `folder`, whose record, receipt and last log rows were read already."""
    written = mtime(folder / LOG_NAME) if rows else None
    return Evidence(
        record=record,
        done=done,
        rows=rows,
        has_policy=has_policy(folder),
        queued=Workspace(folder.parent.parent).entry(folder.name).exists(),
        log_age_s=None if written is None else time.time() - written,
    )


def state_of(folder: Path, record: Run | None = None) -> State:
    """The state of the run in `folder` now; `record` may be given if it was just read."""
    record = read_object(folder / RUN_RECORD, []) if record is None else record
    done = read_object(folder / DONE_NAME, [])
    return judge(folder, record, done, last_rows(folder / LOG_NAME))


def judge(
    folder: Path, record: Run | None, done: dict[str, Any] | None, rows: list[dict[str, Any]]
) -> State:
    """The state of a folder of which these were read, in this order, just now."""
    state = derive(gather(folder, record, done, rows))
    if state.state == "lost" and done is None:  # its receipt may have come while we looked
        done = read_object(folder / DONE_NAME, [])
        state = derive(gather(folder, record, done, rows))
    return state


def _planned(record: Run | None) -> dict[str, Any] | None:
    """The settings of a run that has not begun, and so has not written them itself."""
    config = (record or {}).get("config")
    return config if isinstance(config, dict) else None


def _training(
    config: dict[str, Any] | None, rows: list[dict[str, Any]], families: list[str]
) -> dict[str, Any]:
    step = number(rows[-1].get("step")) if rows else 0
    if config is None:
        empty = dict.fromkeys(("steps", "kl_coef", "mix", "wrapper", "seed"))
        return {"step": step, **empty}
    full = {**DEFAULTS, **{key: value for key, value in config.items() if value is not None}}
    return {
        "step": step,
        "steps": number(full["steps"]),
        "kl_coef": number(full["kl_coef"]),
        "mix": shares(full["family_weights"], families),
        "wrapper": text(full["reward_wrapper"]),
        "seed": number(full["seed"]),
    }


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
        if isinstance(values, Mapping):
            bad += [
                f"train.{family}.{short}"
                for key, short in (("proxy_reward", "proxy"), ("kl", "kl"))
                if key in values and number(values[key]) is None
            ]
    return bad
