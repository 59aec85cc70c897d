"""Runs a submission's diagnostic.py on every RM of a world, and reads what it says."""

import math
import os
import random
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rlhf.vocab import FAMILIES

from . import hostile, strictjson
from .facts import Diagnosis, Status
from .printable import one_line, printable
from .sandbox.launch import Job, Launcher, Outcome
from .sandbox.limits import Limits
from .snapshot import Snapshot
from .submission import DIAGNOSTIC

RM_FILES = ("rm.safetensors", "config.json", "train.jsonl")
_MAX_REPORT = 1 << 20
_THREADS = 2  # of each diagnostic
_LATE = ("wall", "cpu")

Narrate = Callable[[str], None]


def _arguments() -> tuple[str, ...]:
    return (
        *(DIAGNOSTIC, "--rm-dir", "{rm}", "--policy-dir", "{task}/policy"),
        *("--prompts", "{task}/data/prompts_train.jsonl", "--out", "{out}"),
    )


def at_a_time() -> int:
    """How many diagnostics run side by side: each has two threads."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores // _THREADS)


def _family(name: str, said: Any) -> tuple[float, bool]:
    """(risk, flag) of one family's entry. Raises ValueError."""
    if not isinstance(said, dict):
        raise ValueError(f"families.{name} is no object")
    risk, flag = said.get("risk"), said.get("flag")
    if risk is None or not strictjson.is_number(risk) or not math.isfinite(risk):
        raise ValueError(f"families.{name}.risk is {risk!r:.40}, not a finite number")
    if not isinstance(flag, bool):
        raise ValueError(f"families.{name}.flag is {flag!r:.40}, not true or false")
    return float(risk), flag


def parse_report(data: bytes) -> tuple[dict[str, float], dict[str, bool]]:
    """(risk, flag) by family of a diagnostic's report. Raises ValueError saying what is wrong."""
    report = strictjson.parse(data, _MAX_REPORT)
    families = report.get("families") if isinstance(report, dict) else None
    if not isinstance(families, dict):
        raise ValueError("has no object 'families'")
    missing = [family for family in FAMILIES if family not in families]
    if missing:
        raise ValueError(f"misses {', '.join(missing)}")
    said = {family: _family(family, families[family]) for family in FAMILIES}
    return {f: risk for f, (risk, _) in said.items()}, {f: flag for f, (_, flag) in said.items()}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def _ending(outcome: Outcome, errors: str) -> tuple[Status, str]:
    """How a program that gave no usable report ended."""
    if outcome.limit in _LATE:
        return "late", f"ended at the {outcome.limit} limit"
    if outcome.limit:
        return "failed", f"ended at the {outcome.limit} limit"
    last = one_line((errors.strip().splitlines() or [""])[-1])
    return "failed", f"exit code {outcome.code}{': ' if last else ''}{last}"


def _judge(name: str, job: Job, outcome: Outcome, hide: str) -> Diagnosis:
    """What one run said, read only now that nothing of it is left."""
    errors = _text(job.stream("err")).replace(hide, "")
    output = printable((_text(job.stream("out")).replace(hide, "") + errors).strip())
    spent: dict[str, Any] = {"cpu_s": outcome.cpu_s, "wall_s": outcome.wall_s, "output": output}
    if outcome.code != 0 or outcome.limit:
        status, why = _ending(outcome, errors)
        return Diagnosis(name, status, why, **spent)
    try:
        data = hostile.read_regular(job.out, _MAX_REPORT)
        if not data:
            return Diagnosis(name, "missing", "wrote no report", **spent)
        risk, flag = parse_report(data)
    except OSError as error:
        return Diagnosis(name, "unusable", f"report: {error.strerror}", **spent)
    except ValueError as error:
        return Diagnosis(name, "unusable", f"report: {one_line(str(error))}", **spent)
    return Diagnosis(name, "ok", "", risk, flag, **spent)


def _lay_out(rms: Mapping[str, Path], work: Path, seed: str) -> dict[str, Path]:
    """Copies of the RMs under neutral names, in an order that tells nothing."""
    names = sorted(rms)
    random.Random(seed).shuffle(names)
    folders = {}
    for index, name in enumerate(names, start=1):
        folders[name] = work / "rms" / f"rm-{index}"
        folders[name].mkdir(parents=True)
        for file in RM_FILES:
            shutil.copyfile(rms[name] / file, folders[name] / file)
    return folders


def diagnose(
    launcher: Launcher,
    snapshot: Snapshot,
    task: Path,
    rms: Mapping[str, Path],
    work: Path,
    narrate: Narrate,
    limits: Limits,
) -> dict[str, Diagnosis]:
    """What the submission's diagnostic says of each RM: `rms` maps names to their folders."""
    if DIAGNOSTIC not in snapshot.files:
        why = snapshot.problems.get(DIAGNOSTIC, "is not there")
        return {name: Diagnosis(name, "missing", f"{DIAGNOSTIC} {why}") for name in rms}
    folders = _lay_out(rms, work, snapshot.digest)
    total = len(folders)

    def one(numbered: tuple[int, str]) -> Diagnosis:
        index, name = numbered
        see = {"task": task, "submission": snapshot.root, "rm": folders[name]}
        job = Job(work / f"job-{index}", _arguments(), see, limits)
        most = f"at most {limits.wall_s:.0f} s and {limits.cpu_s:.0f} CPU-seconds"
        narrate(f"diagnostic {index}/{total}: begins on {name}, {most}")
        found = _judge(name, job, launcher.run(job), str(work))
        narrate(f"diagnostic {index}/{total}: {found.status}, {found.cpu_s:.1f} CPU-seconds")
        return found

    with ThreadPoolExecutor(at_a_time()) as pool:
        try:
            said = list(pool.map(one, enumerate(folders, start=1)))
        except BaseException:
            launcher.end_all()
            raise
    by_name = {found.rm: found for found in said}
    return {name: by_name[name] for name in rms}
