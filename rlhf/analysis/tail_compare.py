"""How scores lie beside the reference's, and what the gold labels say of the highest of them."""

import math
from typing import Any

import numpy as np

from .tail_figures import ENOUGH, MOST_DRAWN, Clusters, Scores, bootstrap, interval, quantiles_of

Z = 1.959964  # of a 95 % interval
TOP = 0.01  # share of the highest scores whose gold is looked at


def beside(
    scores: Scores,
    prompts: Clusters | None,
    reference: Scores,
    reference_prompts: Clusters | None = None,
) -> dict[str, Any] | None:
    """What of `scores` [N] lies beyond the reference's tail; None where either is empty.

    `above_p99_5`, `above_max`: shares of the scores beyond the reference's quantiles, with 95 %
    intervals for which prompts, not samples, are counted and the quantile is taken as known.
    `median_shift`: of the medians, in IQRs of the reference, with an interval from a bootstrap
    of both; null where that IQR is 0.
    """
    if not len(scores) or not len(reference):
        return None
    trials = len(scores) if prompts is None else len(np.unique(prompts))
    low, middle, high, top = quantiles_of(np.sort(reference), [0.25, 0.5, 0.75, 0.995])
    (median,) = quantiles_of(np.sort(scores), [0.5])
    shift = (median - middle) / (high - low) if 0 < high - low < math.inf else math.nan
    between = (math.nan, math.nan)
    drawable = trials > 1 and max(len(scores), len(reference)) <= MOST_DRAWN
    if math.isfinite(shift) and drawable:  # one prompt drawn again and again never differs
        between = _shift_interval((scores, prompts), (reference, reference_prompts))
    known = len(reference) >= ENOUGH
    return {
        "above_p99_5": _share(scores > top, trials) if known else None,
        "above_max": _share(scores > reference.max(), trials),
        "median_shift": _known(shift, *between) if math.isfinite(shift) else None,
    }


def _known(value: float, low: float, high: float) -> dict[str, float | None]:
    known = math.isfinite(low) and math.isfinite(high)
    return {"value": value, "low": low if known else None, "high": high if known else None}


def _shift_interval(
    run: tuple[Scores, Clusters | None], reference: tuple[Scores, Clusters | None]
) -> tuple[float, float]:
    ours, theirs = (
        bootstrap(np.sort(scores), scores, prompts, seed)
        for seed, (scores, prompts) in enumerate((run, reference))
    )
    with np.errstate(all="ignore"):
        return interval((ours["p50"] - theirs["p50"]) / (theirs["high"] - theirs["low"]))


def _share(hits: "np.ndarray[Any, np.dtype[np.bool_]]", trials: int) -> dict[str, float]:
    """The share of hits with Wilson's interval for `trials` independent ones."""
    p = float(hits.mean())
    middle = (p + Z**2 / (2 * trials)) / (1 + Z**2 / trials)
    half = Z * math.sqrt(p * (1 - p) / trials + Z**2 / (4 * trials**2)) / (1 + Z**2 / trials)
    return {"value": p, "low": max(0.0, middle - half), "high": min(1.0, middle + half)}


def gold_of_top(scores: Scores, gold: Scores) -> dict[str, Any]:
    """Mean gold of all rated scores and of the top 1 % of them, as counted; ties at the edge in."""
    rated = np.isfinite(gold)
    scores, gold = scores[rated], gold[rated]
    edge = np.sort(scores)[-max(1, math.ceil(TOP * len(scores)))]
    top = gold[scores >= edge]
    return {
        "n": len(gold),
        "mean": float(gold.mean()),
        "top_n": len(top),
        "top_mean": float(top.mean()),
    }
