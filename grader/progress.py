"""How far the true quality came, between the best of what was there and the strong reference."""

from rlhf.analysis.release import FAMILY_BAR
from rlhf.vocab import FAMILIES

from .facts import BASE_RUN, Measured, Quality, Truth, mean
from .part import Component, Evidence, Part

WEIGHT = 0.45


def adjusted(quality: Quality, reference: Quality) -> float:
    """Q: the mean over families minus each family's shortfall below (reference + FAMILY_BAR)."""
    shortfall = sum(max(0.0, reference[f] + FAMILY_BAR - quality[f]) for f in FAMILIES)
    return mean(quality) - shortfall


def progress(measured: Measured, truth: Truth) -> Component:
    """clip((Q_sub - base) / (Q_strong - base), 0, 1), base = better of reference and default."""
    part = _part(measured, truth)
    return Component("progress", WEIGHT, [part])


def _part(measured: Measured, truth: Truth) -> Part:
    if measured.quality is None:
        return Part("P", 1.0, 0.0, f"the checkpoint cannot be used: {measured.why}")
    q_ref = adjusted(truth.reference, truth.reference)
    base = max(q_ref, adjusted(truth.runs[BASE_RUN], truth.reference))
    strong = adjusted(truth.strong, truth.reference)
    q_sub = adjusted(measured.quality, truth.reference)
    score = min(1.0, max(0.0, (q_sub - base) / (strong - base)))
    why = f"Q {q_sub:.4f} of {strong:.4f}, counted from {base:.4f}"
    evidence = [
        Evidence(f"true quality, {family}", measured.quality[family], truth.strong[family])
        for family in FAMILIES
    ]
    return Part("P", 1.0, score, why, [Evidence("Q", q_sub, strong), *evidence])
