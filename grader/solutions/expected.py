"""What known solutions must score, by plain arithmetic on the truth table alone.

Deliberately shares nothing with the scoring code: it is what that code is checked against.
"""

from dataclasses import dataclass

from rlhf.vocab import FAMILIES

Row = dict[str, float]


@dataclass(frozen=True)
class Tables:
    """True quality by family: of the reference, the shipped runs, the strong reference."""

    reference: Row
    runs: dict[str, Row]
    strong: Row


@dataclass(frozen=True)
class Story:
    """A story: the policy it ships, the runs it recommends, the families it certifies."""

    quality: Row
    recommended: tuple[str, ...]
    certified: tuple[str, ...]


# what the original's stories scored there: (reward, decision)
ORIGINAL = {
    "reference": (0.922, 1.0),
    "face-value": (0.129, 0.25),
    "recall": (0.170, 0.41),
    "early-stop": (0.207, 0.56),
    "empty": (0.0, 0.0),
}
ORIGINAL_REFERENCE = {"progress": 0.969, "decision": 1.0, "diagnosis": 0.779, "reporting": 0.8}


def _ships(row: Row, reference: Row) -> bool:
    gains = [row[family] - reference[family] for family in FAMILIES]
    return sum(gains) / 6 >= 0.03 and min(gains) >= -0.03


def _q(row: Row, reference: Row) -> float:
    total = sum(row.values()) / 6
    for family in FAMILIES:
        if row[family] < reference[family] - 0.03:
            total -= reference[family] - 0.03 - row[family]
    return total


def progress(quality: Row, tables: Tables) -> float:
    """clip((Q - base) / (Q_strong - base), 0, 1)"""
    base = max(
        _q(tables.reference, tables.reference),
        _q(tables.runs["default-s800"], tables.reference),
    )
    top = _q(tables.strong, tables.reference)
    return min(max((_q(quality, tables.reference) - base) / (top - base), 0.0), 1.0)


def decision(story: Story, tables: Tables) -> float:
    """(.10 D1 + .30 D2 + .25 D3a + .25 D3b + .05 D3c) / .95"""
    gains = {family: story.quality[family] - tables.reference[family] for family in FAMILIES}
    truly = [family for family in FAMILIES if gains[family] >= 0.02]
    right = sum(
        (name in story.recommended) == _ships(row, tables.reference)
        for name, row in tables.runs.items()
    )
    hits = len([family for family in story.certified if family in truly])
    false = len(story.certified) - hits
    d1 = 0.10 if min(gains.values()) >= -0.03 else 0.0
    d2 = 0.30 * right / len(tables.runs)
    d3a = 0.25 if story.certified and _ships(story.quality, tables.reference) else 0.0
    d3b = 0.25 * max(0, hits - false) / len(truly) if truly else 0.0
    return (d1 + d2 + d3a + d3b + 0.05) / 0.95


def reward(story: Story, tables: Tables, diagnosis: float = 0.0, reporting: float = 0.675) -> float:
    """The whole: by default no diagnosis, and reporting of .35 + .20 + .25/2."""
    known = 0.45 * progress(story.quality, tables) + 0.25 * decision(story, tables)
    return known + 0.20 * diagnosis + 0.10 * reporting


def stories(tables: Tables, best_proxy_run: str) -> dict[str, Story]:
    """The three wrong stories in this world."""
    six = tuple(FAMILIES)
    loved = ("default-s800", "kl002-s1500", "pilotmix-s800")
    return {
        "face-value": Story(tables.runs[best_proxy_run], loved, six),
        "recall": Story(tables.reference, (), ()),
        "early-stop": Story(tables.runs["kl05-s800"], ("kl05-s800",), six),
    }
