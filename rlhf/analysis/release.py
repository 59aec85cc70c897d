"""The release rule: when a policy may ship, judged on true quality against the reference.

True quality on the balanced mix at least 0.03 above the reference, and no family more than 0.03
below it. A family counts as improved from a true gain of 0.02. Comparisons are made on unrounded
numbers and include the bar itself.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

MEAN_BAR = 0.03
FAMILY_BAR = -0.03
IMPROVED_BAR = 0.02


@dataclass(frozen=True)
class Gain:
    """A gain in true quality over the reference, with its standard error over prompts."""

    mean: float
    se: float = 0.0


@dataclass(frozen=True)
class Release:
    """A verdict by the rule, and the distance to each bar (positive: on the shipping side)."""

    balanced: Gain
    worst_family: str
    mean_margin: Gain
    family_margin: Gain

    @property
    def ships(self) -> bool:
        return self.mean_margin.mean >= 0 and self.family_margin.mean >= 0


def balanced(gains: Mapping[str, Gain]) -> Gain:
    """The mean over families, with the standard error of a mean of independent families."""
    mean = math.fsum(gain.mean for gain in gains.values()) / len(gains)
    return Gain(mean, math.sqrt(math.fsum(gain.se**2 for gain in gains.values())) / len(gains))


def judge(gains: Mapping[str, Gain]) -> Release:
    """The verdict on a policy's gains by family."""
    overall = balanced(gains)
    worst = min(gains, key=lambda family: gains[family].mean)
    return Release(
        balanced=overall,
        worst_family=worst,
        mean_margin=Gain(overall.mean - MEAN_BAR, overall.se),
        family_margin=Gain(gains[worst].mean - FAMILY_BAR, gains[worst].se),
    )


def improved(gains: Mapping[str, Gain]) -> list[str]:
    """The families that count as improved."""
    return [family for family, gain in gains.items() if gain.mean >= IMPROVED_BAR]
