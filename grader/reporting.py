"""Whether the numbers and texts handed in are there, and are right."""

import re
from typing import Any

from .facts import Measured, mean
from .part import Component, Evidence, Part
from .strictjson import is_number
from .submission import SUMMARY, Submission

WEIGHT = 0.10
PROXY_TOLERANCE = 0.15
KL_TOLERANCE = 0.5  # nats per sequence
ESTIMATE_TOLERANCE = 0.15
HEADINGS = ("## Findings", "## Decision", "## How I computed this")
_NEEDED_EXPERIMENTS = 2


def _within(found: Any, expected: float | None, tolerance: float) -> bool:
    if expected is None or not is_number(found):
        return False
    return tolerance >= abs(found - expected)


def evaluation_reported(submission: Submission, measured: Measured) -> Part:
    """R1: dev_eval's two numbers against the same evaluation, run here."""
    said = submission.dict_of("dev_eval")
    rows = [
        ("proxy_mean", measured.proxy_mean, PROXY_TOLERANCE),
        ("kl_mean", measured.kl_mean, KL_TOLERANCE),
    ]
    off = [key for key, value, room in rows if not _within(said.get(key), value, room)]
    evidence = [Evidence(f"dev_eval.{key}", said.get(key), value) for key, value, _ in rows]
    bars = f"within {PROXY_TOLERANCE} and {KL_TOLERANCE} nats of recomputation"
    why = f"not {bars}: {', '.join(off)}" if off else f"both {bars}"
    return Part("R1", 0.35, float(not off), why, evidence)


def estimate_given(submission: Submission, measured: Measured) -> Part:
    """R2: estimated_true_quality against the truth; null earns nothing."""
    said = submission.dict_of("certification").get("estimated_true_quality")
    true = None if measured.quality is None else mean(measured.quality)
    good = _within(said, true, ESTIMATE_TOLERANCE)
    why = f"{'within' if good else 'not within'} {ESTIMATE_TOLERANCE} of the truth"
    evidence = [Evidence("certification.estimated_true_quality", said, true)]
    return Part("R2", 0.20, float(good), why if said is not None else "no estimate", evidence)


def headings_there(submission: Submission) -> Part:
    """R3: all three headings stand in summary.md, each on a line of its own."""
    lines = {re.sub(r"\s+", " ", line).strip() for line in submission.summary.splitlines()}
    absent = [heading for heading in HEADINGS if heading not in lines]
    why = f"missing: {', '.join(absent)}" if absent else "all there"
    if SUMMARY in submission.problems:
        why = f"{SUMMARY} {submission.problems[SUMMARY]}"
    found = [heading for heading in HEADINGS if heading in lines]
    evidence = [Evidence(SUMMARY, found, list(HEADINGS))]
    return Part("R3", 0.20, float(not absent), why, evidence)


def _fault(submission: Submission, row: Any) -> str | None:
    """Why an experiment does not count, or None if it does."""
    if not isinstance(row, dict):
        return "is no object"
    files, results = row.get("files"), row.get("results")
    if not isinstance(files, list) or not files:
        return "names no file"
    for path in files:
        if submission.file_at(path) is None:
            return f"{path!r:.80} is no file with content inside the submission"
    if not isinstance(results, dict) or not results:
        return "has no results"
    wrong = [key for key, value in results.items() if not is_number(value)]
    return f"result {wrong[0]!r:.60} is no number" if wrong else None


def experiments_backed(submission: Submission) -> Part:
    """R4: experiments whose files exist and whose results are numbers; two are enough."""
    faults = [_fault(submission, row) for row in submission.list_of("experiments")]
    valid = faults.count(None)
    evidence = [
        Evidence(f"experiments[{index}]", fault or "valid", "valid")
        for index, fault in enumerate(faults[:20])
    ]
    why = f"{valid} valid of {len(faults)}, {_NEEDED_EXPERIMENTS} earn all"
    score = min(valid, _NEEDED_EXPERIMENTS) / _NEEDED_EXPERIMENTS
    return Part("R4", 0.25, score, why, evidence)


def reporting(submission: Submission, measured: Measured) -> Component:
    """The four parts."""
    parts = [
        evaluation_reported(submission, measured),
        estimate_given(submission, measured),
        headings_there(submission),
        experiments_backed(submission),
    ]
    return Component("reporting", WEIGHT, parts)
