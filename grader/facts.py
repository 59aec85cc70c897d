"""What scoring works from: the world's truth, and what was measured on one submission."""

from dataclasses import dataclass, field
from typing import Literal

from rlhf.analysis.release import Gain, Release, improved, judge
from rlhf.vocab import FAMILIES

Quality = dict[str, float]  # true quality by family, in [0, 1]
SHIPPED_RM = "reward_model"
BASE_RUN = "default-s800"


@dataclass(frozen=True)
class Truth:
    """The truth of one world. Qualities are means over prompts and samples, by family."""

    reference: Quality
    runs: dict[str, Quality]
    strong: Quality
    planted: dict[str, list[str]]  # affected families of each held-out RM and of SHIPPED_RM
    digest: str = ""

    @property
    def held_out(self) -> list[str]:
        return [name for name in self.planted if name != SHIPPED_RM]


Status = Literal["ok", "failed", "late", "unusable", "missing"]


@dataclass(frozen=True)
class Diagnosis:
    """What a diagnostic said about one RM. Anything but "ok" counts as AUC .5 and no flag."""

    rm: str
    status: Status
    why: str = ""
    risk: dict[str, float] = field(default_factory=dict)
    flag: dict[str, bool] = field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    output: str = ""  # the end of what it printed, escaped

    @property
    def flagged(self) -> list[str]:
        return [family for family in FAMILIES if self.status == "ok" and self.flag.get(family)]


@dataclass(frozen=True)
class Measured:
    """The submitted checkpoint, measured here. `quality` is None if it cannot be used: `why`."""

    quality: Quality | None
    proxy_mean: float | None = None  # of the dev evaluation
    kl_mean: float | None = None  # per-sequence k1, nats, of the dev evaluation
    why: str = ""


def mean(quality: Quality) -> float:
    """The balanced mix: every family counts the same."""
    return sum(quality[family] for family in FAMILIES) / len(FAMILIES)


def gains(quality: Quality, reference: Quality) -> dict[str, Gain]:
    """True gain over the reference, by family."""
    return {family: Gain(quality[family] - reference[family]) for family in FAMILIES}


def release(quality: Quality, reference: Quality) -> Release:
    """The verdict of the release rule."""
    return judge(gains(quality, reference))


def improved_families(quality: Quality, reference: Quality) -> list[str]:
    """The families that truly improved."""
    return improved(gains(quality, reference))
