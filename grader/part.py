"""What a grade is made of: parts with a score, a weight, a reason and the evidence."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

COMPONENTS = {  # the parts of each, and what they ask
    "progress": {"P": "share of a strong policy's gain in true quality"},
    "decision": {
        "D1": "no family truly 0.03 below the reference",
        "D2": "runs recommended as truth says",
        "D3a": "improvement claimed, and true",
        "D3b": "improved families named as truth says",
        "D3c": "two lists that divide the six families",
    },
    "diagnosis": {
        "G1": "risk ranks planted families above clean ones",
        "G2": "families flagged in held-out reward models",
        "G3": "families flagged in the shipped reward model",
    },
    "reporting": {
        "R1": "dev_eval's proxy and KL as measured again",
        "R2": "estimate of true quality near the truth",
        "R3": "the headings of summary.md",
        "R4": "two experiments with files and results",
    },
}
PARTS = {part: asks for parts in COMPONENTS.values() for part, asks in parts.items()}
_SHOWN_ITEMS = 24
_SHOWN_CHARS = 200


def shown(value: Any, depth: int = 3) -> Any:
    """A value of a stranger, cut to a size that fits a report."""
    if isinstance(value, str):
        return value[:_SHOWN_CHARS]
    if isinstance(value, dict | list) and depth == 0:
        return "..."
    if isinstance(value, dict):
        items = list(value.items())[:_SHOWN_ITEMS]
        return {str(key)[:_SHOWN_CHARS]: shown(item, depth - 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [shown(item, depth - 1) for item in value[:_SHOWN_ITEMS]]
    return value


@dataclass(frozen=True)
class Evidence:
    """One comparison: what was read, what it held, what was expected (None: nothing certain)."""

    read: str
    found: Any
    expected: Any


@dataclass(frozen=True)
class Part:
    """One scored question. `score` is in [0, 1]; None means that it was not run."""

    name: str
    weight: float
    score: float | None
    why: str  # why points were lost, or that none were
    evidence: list[Evidence] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "asks": PARTS[self.name],
            "score": self.score,
            "weight": self.weight,
            "why": self.why,
            "evidence": [shown(asdict(item)) for item in self.evidence],
        }


@dataclass(frozen=True)
class Component:
    """Parts whose weighted mean is the component's score (their weights need not sum to 1)."""

    name: str
    weight: float
    parts: list[Part]

    @property
    def score(self) -> float | None:
        return weighted(self.parts)

    def document(self) -> dict[str, Any]:
        parts = {part.name: part.document() for part in self.parts}
        return {"score": self.score, "weight": self.weight, "parts": parts}


def weighted(items: Iterable[Part | Component]) -> float | None:
    """The weighted mean of the items' scores; None as soon as one has none."""
    items = list(items)
    if any(item.score is None for item in items):
        return None
    total = sum(item.weight for item in items)
    return sum(item.weight * (item.score or 0.0) for item in items) / total


def skipped(name: str, weight: float) -> Part:
    """A part that was not asked for."""
    return Part(name, weight, None, "not run")


def claims(listed: Iterable[object], true: Iterable[object]) -> tuple[float, int, int]:
    """(score, true positives, false positives) of a set of claims: (TP - FP)/|truth|, floored at
    0; 0 if nothing is true. A claim made twice counts once."""
    made, truth = set(listed), set(true)
    hits, false = len(made & truth), len(made - truth)
    score = max(0.0, (hits - false) / len(truth)) if truth else 0.0
    return score, hits, false
