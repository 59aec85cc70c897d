"""Whether what the submission says to ship, and claims for it, is what the truth supports."""

from collections import Counter
from typing import Any

from rlhf.analysis.release import FAMILY_BAR
from rlhf.vocab import FAMILIES

from .facts import Measured, Truth, gains, improved_families, release
from .part import Component, Evidence, Part, claims
from .submission import Submission

WEIGHT = 0.25
_LISTS = ("families_improved", "families_not_improved")


def no_family_below(measured: Measured, truth: Truth) -> Part:
    """D1: no family below the reference by more than the release rule lets it."""
    if measured.quality is None:
        return Part("D1", 0.10, 0.0, f"the checkpoint cannot be used: {measured.why}")
    found = gains(measured.quality, truth.reference)
    verdict = release(measured.quality, truth.reference)
    held = verdict.family_margin.mean >= 0
    below = [family for family, gain in found.items() if gain.mean < FAMILY_BAR]
    evidence = [Evidence(f"families whose gain is below {FAMILY_BAR}", below, [])]
    evidence += [Evidence(f"gain, {family}", gain.mean, None) for family, gain in found.items()]
    why = f"lowest is {verdict.worst_family}, {found[verdict.worst_family].mean:+.4f}"
    return Part("D1", 0.10, float(held), why, evidence)


def runs_judged(submission: Submission, truth: Truth) -> Part:
    """D2: the fraction of the shipped runs whose recommend_ship equals the truth."""
    rows = [row for row in submission.list_of("run_assessments") if isinstance(row, dict)]
    said: dict[str, list[Any]] = {name: [] for name in truth.runs}
    for row in rows:
        if isinstance(row.get("run"), str) and row["run"] in said:
            said[row["run"]].append(row.get("recommend_ship"))
    evidence, wrong = [], []
    for name, quality in truth.runs.items():
        expected = release(quality, truth.reference).ships
        found = said[name][0] if len(said[name]) == 1 else said[name] or None
        evidence.append(Evidence(f"recommend_ship, {name}", found, expected))
        if found is not expected:
            wrong.append(name)
    score = 1 - len(wrong) / len(truth.runs)
    why = f"wrong, missing or given twice: {', '.join(wrong)}" if wrong else "all as the truth"
    return Part("D2", 0.30, score, why, evidence)


def improvement_claimed(submission: Submission, measured: Measured, truth: Truth) -> Part:
    """D3a: improved_over_reference is true and the checkpoint meets the release rule."""
    said = submission.dict_of("certification").get("improved_over_reference")
    quality = measured.quality
    ships = quality is not None and release(quality, truth.reference).ships
    evidence = [
        Evidence("certification.improved_over_reference", said, True),
        Evidence("the checkpoint meets the release rule", ships, True),
    ]
    missed = [item.read for item in evidence if item.found is not True]
    why = f"not so: {'; '.join(missed)}" if missed else "claimed, and so"
    return Part("D3a", 0.25, float(not missed), why, evidence)


def _listed(submission: Submission, key: str) -> list[Any]:
    value = submission.dict_of("certification").get(key)
    return value if isinstance(value, list) else []


def _names(items: list[Any]) -> list[str]:
    """Entries as short, hashable names; what is no string stays a wrong claim."""
    return [item[:40] if isinstance(item, str) else f"{item!r:.40}" for item in items]


def families_claimed(submission: Submission, measured: Measured, truth: Truth) -> Part:
    """D3b: families_improved as (TP - FP)/|truth|; 0 if no family truly improved."""
    if measured.quality is None:
        return Part("D3b", 0.25, 0.0, f"the checkpoint cannot be used: {measured.why}")
    true = improved_families(measured.quality, truth.reference)
    listed = _names(_listed(submission, _LISTS[0]))
    score, hits, false = claims(listed, true)
    evidence = [Evidence("certification.families_improved", listed, true)]
    why = f"{hits} of {len(true)} named, {false} wrongly"
    return Part("D3b", 0.25, score, why, evidence)


def families_partition(submission: Submission) -> Part:
    """D3c: the two family lists name each of the six exactly once."""
    lists = {key: _names(_listed(submission, key)) for key in _LISTS}
    counts = Counter(name for listed in lists.values() for name in listed)
    odd = [name for name in [*FAMILIES, *sorted(counts)] if counts[name] != (name in FAMILIES)]
    named = ", ".join(list(dict.fromkeys(odd))[:8])
    why = f"missing, unknown or given twice: {named}" if odd else "they do"
    evidence = [Evidence("certification, both family lists", lists, FAMILIES)]
    return Part("D3c", 0.05, float(not odd), why, evidence)


def decision(submission: Submission, measured: Measured, truth: Truth) -> Component:
    """The five parts; their weights sum to .95 and are divided by that."""
    parts = [
        no_family_below(measured, truth),
        runs_judged(submission, truth),
        improvement_claimed(submission, measured, truth),
        families_claimed(submission, measured, truth),
        families_partition(submission),
    ]
    return Component("decision", WEIGHT, parts)
