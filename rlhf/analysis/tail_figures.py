"""The figures of one family's scores: quantiles, tail ratio, and how sure they are.

Samples of one prompt are not independent, so intervals come from a bootstrap over prompts
(over scores, where rows name no prompt). Everything here is a pure function of arrays.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Clusters = NDArray[np.int64]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.5": 0.995}
HIGH = ("p99", "p99.5")
ENOUGH = 2000  # scores that a high quantile needs: ten of them lie beyond p99.5
DRAWS = 200  # of the bootstrap
MOST_DRAWN = 20_000  # finite scores up to which a bootstrap is made
INTERVAL = (0.025, 0.975)
TAILS = (0.95, 0.98)  # levels above which excesses are looked at
HEAVIER = 1.05  # an exponential's excesses have a coefficient of variation of 1
HEAVY, NO_EVIDENCE = "heavier than exponential", "no evidence of a heavy tail"


def figures(scores: Scores, clusters: Clusters | None, seed: int = 0) -> dict[str, Any]:
    """Quantiles, spread and tail ratio of finite scores [N], with 95 % intervals.

    `clusters` [N] numbers each score's prompt. Values are null where they are withheld or do
    not exist; `why` says which and why.
    """
    ordered = np.sort(scores)
    several = len(np.unique(clusters if clusters is not None else np.arange(len(scores)))) > 1
    drawable = several and len(scores) <= MOST_DRAWN
    drawn = bootstrap(ordered, scores, clusters, seed) if drawable else None
    values = _values(ordered)
    enough = len(scores) >= ENOUGH
    shown = {name: _shown(name, values, drawn, enough) for name in (*QUANTILES, "tail_ratio")}
    return {
        "quantiles": {name: shown[name] for name in QUANTILES},
        "min": _finite(values["min"]),
        "max": _finite(values["max"]),
        "iqr": _finite(values["iqr"]),
        "tail_ratio": shown["tail_ratio"],
        "tail": _verdict(drawn) if enough and drawn is not None else None,
        "why": _why(len(scores), values["iqr"]),
        "distinct": len(np.unique(ordered)),
    }


def _values(ordered: Scores) -> dict[str, float]:
    if not len(ordered):
        return dict.fromkeys((*QUANTILES, "min", "max", "iqr", "tail_ratio"), math.nan)
    *wanted, low, high = quantiles_of(ordered, [*QUANTILES.values(), 0.25, 0.75])
    with np.errstate(over="ignore", invalid="ignore"):
        values = dict(zip(QUANTILES, wanted, strict=True))
        iqr = float(np.float64(high) - low)
        above = float(np.float64(values["p99.5"]) - values["p50"])
    ratio = above / iqr if 0 < iqr < math.inf else math.nan
    ends = {"min": float(ordered[0]), "max": float(ordered[-1])}
    return {**values, **ends, "iqr": iqr, "tail_ratio": ratio}


def quantiles_of(ordered: Scores, levels: Sequence[float]) -> list[float]:
    """numpy's quantiles (linear) of sorted finite numbers, finite at any size of them."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.quantile(ordered, levels)
    if not np.isfinite(found).all():  # numpy's interpolation overflows near 1e308
        found = _weighted(ordered, np.ones(len(ordered), dtype=np.int64), np.array(levels))
    return [float(value) for value in found]


def bootstrap(
    ordered: Scores, scores: Scores, clusters: Clusters | None, seed: int
) -> dict[str, Scores]:
    """Each figure of DRAWS samples [DRAWS] in which whole prompts are drawn with replacement."""
    rng = np.random.default_rng(seed)
    owner = np.arange(len(ordered))
    if clusters is not None:
        owner = np.unique(clusters, return_inverse=True)[1][np.argsort(scores, kind="stable")]
    K = int(owner.max()) + 1
    levels = np.array([*QUANTILES.values(), 0.25, 0.75, *TAILS])
    found = np.empty((DRAWS, len(levels)))
    with np.errstate(all="ignore"):
        for draw in range(DRAWS):
            times = np.bincount(rng.integers(0, K, K), minlength=K)[owner]
            found[draw] = _weighted(ordered, times, levels)
            for column in range(-len(TAILS), 0):
                found[draw, column] = _excess_cv(ordered, times, found[draw, column])
        columns = dict(zip([*QUANTILES, "low", "high", *map(str, TAILS)], found.T, strict=True))
        spread = columns["high"] - columns["low"]
        columns["tail_ratio"] = (columns["p99.5"] - columns["p50"]) / spread
    return columns


def _excess_cv(ordered: Scores, times: Clusters, threshold: float) -> float:
    """Coefficient of variation of what lies above `threshold`; NaN if that does not vary."""
    first = int(np.searchsorted(ordered, threshold, side="right"))
    weights, excess = times[first:], ordered[first:] - threshold
    total = weights.sum()
    if not total:
        return math.nan
    mean = (weights * excess).sum() / total
    return float(np.sqrt((weights * (excess - mean) ** 2).sum() / total) / mean)


def _verdict(drawn: dict[str, Scores]) -> str:
    """Whether the upper tail is heavier than exponential; finding nothing proves nothing."""
    for level in TAILS:
        cvs = drawn[str(level)]
        if np.isfinite(cvs).all() and np.quantile(cvs, 0.05) > HEAVIER:
            return HEAVY
    return NO_EVIDENCE


def _weighted(ordered: Scores, times: Clusters, levels: Scores) -> Scores:
    """Quantiles (linear, as numpy's) of scores of which each is there `times` times."""
    ends = np.cumsum(times)
    place = levels * (ends[-1] - 1)
    below = np.floor(place).astype(np.int64)
    low = ordered[np.searchsorted(ends, below, side="right")]
    high = ordered[np.searchsorted(ends, np.minimum(below + 1, ends[-1] - 1), side="right")]
    share = place - below
    return low * (1 - share) + high * share


def _shown(
    name: str, values: dict[str, float], drawn: dict[str, Scores] | None, enough: bool
) -> dict[str, float | None]:
    if not enough and name in (*HIGH, "tail_ratio"):
        return {"value": None, "low": None, "high": None}
    low, high = (math.nan, math.nan) if drawn is None else interval(drawn[name])
    return {"value": _finite(values[name]), "low": _finite(low), "high": _finite(high)}


def interval(drawn: Scores) -> tuple[float, float]:
    """The 95 % interval of a figure's draws; NaN unless every draw has the figure."""
    kept = drawn[np.isfinite(drawn)]
    if len(kept) < len(drawn):  # a bound from the draws that happened to have one would mislead
        return math.nan, math.nan
    low, high = quantiles_of(np.sort(kept), INTERVAL)
    return low, high


def _why(n: int, iqr: float) -> list[str]:
    """What is withheld, and for what reason."""
    if not n:
        return ["no finite score"]
    reasons = []
    if n < ENOUGH:
        reasons.append(f"{n} score{'s' * (n != 1)}: p99, p99.5 and the tail ratio need {ENOUGH}")
    if iqr == 0:
        reasons.append("no tail ratio: half of the scores or more are one value (IQR 0)")
    elif not math.isfinite(iqr):
        reasons.append("no tail ratio: the IQR is too large for a float")
    if n > MOST_DRAWN:
        reasons.append(f"no intervals: more than {MOST_DRAWN} scores")
    return reasons


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def edges_over(low: float, high: float, bins: int) -> Scores:
    """`bins`+1 rising edges from `low` to `high`; one distinct score gets a bin around it."""
    if low == high:
        margin = max(abs(low) * 1e-3, 0.5)
        low, high = max(low - margin, -1.797e308), min(high + margin, 1.797e308)
    share = np.linspace(0, 1, bins + 1)
    edges: Scores = low * (1 - share) + high * share  # high - low may be more than a float holds
    edges[0], edges[-1] = low, high
    return np.maximum.accumulate(edges)


def histogram(scores: Scores, edges: Scores) -> list[int]:
    """How many of finite scores [N] lie in each bin; a score on an inner edge is the right's."""
    place = np.searchsorted(edges, scores, side="right") - 1
    counts = np.bincount(np.clip(place, 0, len(edges) - 2), minlength=len(edges) - 1)
    return [int(count) for count in counts]
