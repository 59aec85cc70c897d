"""Running a run again from its record, elsewhere, and saying whether it came out the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlhf.runlog import CONFIG_NAME, LOG_NAME, canonical_sha256, read_log, write_json

from . import meta
from .afterwards import VERDICT
from .errors import InputError, UsageError, writing
from .evidence import state_of
from .identity import host
from .inputs import changed_inputs, hash_code
from .launch import TRAINER, launch
from .paths import Workspace
from .plan import Request, make_plans
from .record import Record, load, now
from .runfiles import DEV_NAME, POLICY_NAME, number, read_object

ELAPSED = "elapsed_s"  # the one column of a log that differs between equal runs
METRICS = ("proxy_reward", "kl")


def replay(
    workspace: Workspace, task: Path, folder: Path, trainer: tuple[str, ...] = TRAINER
) -> str:
    """Queue a fresh run of the same config and inputs; its id. The verdict follows its end.

    Raises UsageError if the run did not finish, InputError naming each input that has changed.
    """
    state = state_of(folder)
    if state.state != "finished":
        raise UsageError(f"{folder.name} is {state.state}: only a finished run can be replayed")
    record = load(folder) or {}
    changed = changed_inputs(record.get("inputs") or {})
    if changed:
        what = "; ".join(changed)
        meta.append(workspace, folder.name, "replay", same=None, inputs_changed=changed)
        raise InputError(f"{folder.name} cannot come out the same: {what}", str(folder))
    name = f"{record.get('name', folder.name)}-replay"
    request = Request(base=_config(folder, record), name=name)
    plans = make_plans(request, Path(record.get("env", {}).get("TASK", task)))
    of = {"id": folder.name, "folder": str(folder)}
    return launch(workspace, task, plans, folder.name, trainer, replay_of=of)[0]


def _config(folder: Path, record: Record) -> dict[str, Any]:
    config = record.get("config") or read_object(folder / CONFIG_NAME, [])
    if not config:
        raise InputError(f"{folder / CONFIG_NAME} is missing or damaged", str(folder / CONFIG_NAME))
    return dict(config)


def record_verdict(folder: Path) -> None:
    """Compare the replay in `folder` with its original and write replay.json beside it."""
    record = load(folder)
    if record is None or not record.get("replay_of"):
        raise UsageError(f"{folder.name} is no replay")
    original = Path(record["replay_of"]["folder"])
    before = load(original) or {}
    differs = differences(original, folder)
    verdict = {
        "format": 1,
        "of": record["replay_of"]["id"],
        "replay": folder.name,
        "at": now(),
        "same": not differs,
        "differs": differs,
        "same_machine": _same_machine(before, record),
        "code_changed": before.get("code") not in (None, hash_code()),
        "inputs_changed": changed_inputs(before.get("inputs") or {}),
        "bounds": bounds(original, folder) if differs else None,
    }
    with writing(folder / VERDICT):
        write_json(folder / VERDICT, verdict)
    workspace = Workspace(folder.parent.parent)
    meta.append(workspace, verdict["of"], "replay", same=verdict["same"], replay=folder.name)


def _same_machine(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool | None:
    """Whether both ran on one machine with as many threads; None if that was not recorded."""
    process = before.get("process")
    if not isinstance(process, Mapping):
        return None
    return process.get("host") == host() and before.get("threads") == after.get("threads")


def differences(one: Path, other: Path) -> list[str]:
    """What differs between two runs: bytes of the weights, rows of the log, the evaluation."""
    found = [] if _same(one, other, POLICY_NAME) else [POLICY_NAME]
    if not _same(one, other, LOG_NAME):
        found.append(f"{LOG_NAME}: {_first_difference(_rows(one), _rows(other))}")
    if (one / DEV_NAME).exists() and (other / DEV_NAME).exists():
        found += [] if _same(one, other, DEV_NAME) else [DEV_NAME]
    return found


def _same(one: Path, other: Path, name: str) -> bool:
    try:
        return canonical_sha256(one / name) == canonical_sha256(other / name)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}", error.filename) from error


def _rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / LOG_NAME
    try:
        log = read_log(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from error
    return [{key: value for key, value in row.items() if key != ELAPSED} for row in log.rows]


def _first_difference(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> str:
    for before, after in zip(one, other, strict=False):
        if before != after:
            keys = sorted(k for k in before | after if before.get(k) != after.get(k))
            return f"from step {after.get('step')} ({', '.join(keys)})"
    return f"{len(one)} rows before, {len(other)} now"


def bounds(one: Path, other: Path) -> dict[str, float | None]:
    """Per metric, the largest absolute difference over the steps that both logs have."""
    before = {row.get("step"): row for row in _rows(one)}
    pairs = [(before[row["step"]], row) for row in _rows(other) if row.get("step") in before]
    return {metric: _largest(pairs, metric) for metric in METRICS}


def _largest(pairs: list[tuple[dict[str, Any], dict[str, Any]]], metric: str) -> float | None:
    values = [(number(a.get(metric)), number(b.get(metric))) for a, b in pairs]
    return max((abs(a - b) for a, b in values if a is not None and b is not None), default=None)
