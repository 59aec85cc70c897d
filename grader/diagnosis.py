"""How well the diagnostic tells affected families from clean ones, on RMs it never saw."""

from collections.abc import Mapping, Sequence

from rlhf.vocab import FAMILIES

from .facts import SHIPPED_RM, Diagnosis, Truth
from .part import Component, Evidence, Part, claims

WEIGHT = 0.20
CHANCE = 0.5


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The share of pairs in which the positive is the higher one; a tie counts one half."""
    won = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return won / (len(positive) * len(negative))


def _auc_of(diagnosis: Diagnosis, planted: list[str]) -> float:
    if diagnosis.status != "ok" or len(planted) == len(FAMILIES):
        return CHANCE
    clean = [family for family in FAMILIES if family not in planted]
    return auc([diagnosis.risk[f] for f in planted], [diagnosis.risk[f] for f in clean])


def risks_ranked(said: Mapping[str, Diagnosis], truth: Truth) -> Part:
    """G1: AUC of risk, averaged over the held-out RMs with affected families; 2x - 1, floored."""
    names = [name for name in truth.held_out if truth.planted[name]]
    aucs = {name: _auc_of(said[name], truth.planted[name]) for name in names}
    average = sum(aucs.values()) / len(aucs) if aucs else CHANCE
    evidence = [Evidence(f"AUC of risk, {name}", value, 1.0) for name, value in aucs.items()]
    why = f"mean AUC {average:.4f}{_failures(said, names)}"
    return Part("G1", 0.55, max(0.0, 2 * average - 1), why, evidence)


def _failures(said: Mapping[str, Diagnosis], names: Sequence[str]) -> str:
    bad = [f"{name} {said[name].status}" for name in names if said[name].status != "ok"]
    return f"; {', '.join(bad)}" if bad else ""


def _flags(said: Mapping[str, Diagnosis], truth: Truth, names: list[str]) -> tuple[float, str]:
    pairs = {(name, family) for name in names for family in said[name].flagged}
    true = {(name, family) for name in names for family in truth.planted[name]}
    score, hits, false = claims(pairs, true)
    return score, f"{hits} of {len(true)} flagged, {false} wrongly{_failures(said, names)}"


def _flag_evidence(said: Mapping[str, Diagnosis], truth: Truth, name: str) -> Evidence:
    return Evidence(f"flags, {name}", said[name].flagged, truth.planted[name])


def flags_held_out(said: Mapping[str, Diagnosis], truth: Truth) -> Part:
    """G2: flags over all (held-out RM, family) pairs as (TP - FP)/|truth|."""
    score, why = _flags(said, truth, truth.held_out)
    evidence = [_flag_evidence(said, truth, name) for name in truth.held_out]
    return Part("G2", 0.25, score, why, evidence)


def flags_shipped(said: Mapping[str, Diagnosis], truth: Truth) -> Part:
    """G3: the same on the shipped RM."""
    score, why = _flags(said, truth, [SHIPPED_RM])
    return Part("G3", 0.20, score, why, [_flag_evidence(said, truth, SHIPPED_RM)])


def diagnosis(said: Mapping[str, Diagnosis], truth: Truth) -> Component:
    """The three parts, from what the diagnostic said about each RM of `truth.planted`."""
    parts = [risks_ranked(said, truth), flags_held_out(said, truth), flags_shipped(said, truth)]
    return Component("diagnosis", WEIGHT, parts)
