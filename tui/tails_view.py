"""The tails of scores as the dashboard and the command show them: figures and their words.

Reads the document of `sessions.tails`; everything in it that came from a file is cleaned here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .render import NONE, clean, decimals, figure, fit
from .table import layout

QUANTILES = ("p50", "p90", "p99", "p99.5")
WIDE = 146  # cells from which intervals are written out
BARE = 100  # cells below which >ref and shift have theirs in the headline alone
NAME_ROOM = (18, 24)  # cells of a source's name, narrow and wide
FAMILY_ROOM = 40  # cells of a family's name in a sentence
MOST_LISTED = 4  # labels after a verdict
NONFINITE = {"nan": "NaN", "pos_inf": "+inf", "neg_inf": "-inf", "missing": "missing"}


@dataclass(frozen=True)
class Tails:
    """The document: sources, families, the one set of bin edges."""

    document: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """What the sources are called, the reference first if there is one."""
        return [clean(str(source.get("name"))) for source in self.document["sources"]]

    @property
    def families(self) -> list[str]:
        """The families as the document spells them: keys, to be cleaned before they are shown."""
        return list(self.document["families"])

    @property
    def edges(self) -> list[float]:
        """The edges of the bins; none where no score is finite."""
        return list(self.document["edges"])

    @property
    def has_reference(self) -> bool:
        """Whether the first source is what the others are compared to."""
        return bool(self.document.get("reference"))

    def of(self, family: str) -> list[dict[str, Any]]:
        """The figures of a family, one a source."""
        return list(self.document["families"].get(family) or [])

    def bad_lines(self) -> Iterator[str]:
        """What could not be read of the files, by line number."""
        for name, source in zip(self.names, self.document["sources"], strict=True):
            told = source["problems"]
            for problem in told:
                yield f"{name}, line {problem['line']}: {clean(str(problem['message']))}"
            if source["bad_lines"] > len(told):
                yield f"{name}: and {source['bad_lines'] - len(told)} more lines"


def not_finite(one: dict[str, Any]) -> str:
    """`3 NaN, 1 +inf`: the scores that are no finite number, by kind."""
    return ", ".join(f"{one[key]} {word}" for key, word in NONFINITE.items() if one[key])


def interval(value: Any, wide: bool) -> str:
    """A figure with its 95 % interval: written out, or as half its width."""
    if value is None or value["value"] is None:
        return NONE
    return figure(value["value"]) + _between(value, wide)


def _between(value: Mapping[str, Any], wide: bool) -> str:
    if value["low"] is None:
        return ""
    widest = max(value["high"] - value["value"], value["value"] - value["low"])
    if wide or widest == math.inf:  # wider than a float holds
        return f" [{figure(value['low'])}, {figure(value['high'])}]"
    half = figure(widest)
    return f"±{half.removeprefix('0') if half.startswith('0.') else half}"


def share(value: Any, wide: bool = False) -> str:
    """A share in percent, with its interval as `interval` has it."""
    if value is None:
        return NONE
    percent = {key: 100 * part for key, part in value.items()}
    return f"{percent['value']:.3g}%{_between(percent, wide)}"


def shift(value: Any, wide: bool = False) -> str:
    """A shift of medians with its sign, and with its interval as `interval` has it."""
    if value is None:
        return NONE
    moved = value["value"]
    shown = f"{moved:+.{decimals(moved)}f}" if abs(moved) < 1e5 else f"{moved:+.0e}"
    return shown + _between(value, wide)


def table_lines(tails: Tails, families: Sequence[str], room: int | None) -> list[str]:
    """A heading, and a row for every source of the families."""
    wide = room is None or room >= WIDE
    bare = room is not None and room < BARE
    head = ["RUN", "n", *QUANTILES, "max", "ratio", ">ref" if not wide else ">ref p99.5", "shift"]
    several = len(families) > 1
    rows = [["FAMILY", *head] if several else head]
    for family in families:
        for name, one in zip(tails.names, tails.of(family), strict=True):
            cells = [fit(name, NAME_ROOM[wide]), *_cells(one, wide, bare)]
            rows.append([fit(clean(family), 12), *cells] if several else cells)
    lines = layout(rows, room, texts=(1,) if several else ())
    once = _n_once(rows) if bare and not several else rows
    shorter = layout(once, room)
    return shorter if once is not rows and shorter[0].startswith(once[0][0]) else lines


def _n_once(rows: list[list[str]]) -> list[list[str]]:
    """The rows with n in the heading of the names, if it is the same in all."""
    if len({row[1] for row in rows[1:]}) != 1:
        return rows
    return [[f"RUN, n {rows[1][1]}", *rows[0][2:]], *([row[0], *row[2:]] for row in rows[1:])]


def _cells(one: dict[str, Any], wide: bool, bare: bool) -> list[str]:
    beside = one["beside_reference"] or {"above_p99_5": None, "median_shift": None}
    beyond = [share(beside["above_p99_5"], wide), shift(beside["median_shift"], wide)]
    if bare:
        beyond = [text.partition("±")[0] for text in beyond]
    bad = one["n"] - one["n_finite"]
    return [
        f"{one['n']}" + (f" ✗{bad}" if bad else ""),
        *(interval(one["quantiles"][key], wide) for key in QUANTILES),
        figure(one["max"]),
        interval(one["tail_ratio"], wide),
        *beyond,
    ]


def scored_by(tails: Tails) -> Iterator[str]:
    """Whose reward model the scores are of, if they are not from elsewhere."""
    if said := tails.document.get("reward_model_is"):
        yield f"raw scores of {clean(str(said))}: {clean(str(tails.document['reward_model']))}"


def remarks(tails: Tails, families: Sequence[str]) -> Iterator[str]:
    """What is left out, withheld or not finite, what gold says, and which tails are heavy."""
    if tails.document.get("alone"):
        yield clean(str(tails.document["alone"]))
    yield from (clean(str(note)) for note in tails.document.get("notes") or ())
    verdicts: dict[str, list[str]] = {}
    lead = f"{fit(clean(families[0]), FAMILY_ROOM)}: " if len(families) == 1 else ""  # named once
    for family in families:
        called = fit(clean(family), FAMILY_ROOM)
        for name, one in zip(tails.names, tails.of(family), strict=True):
            label, bad = name if lead else f"{called} of {name}", not_finite(one)
            said = [*([f"not finite: {bad}"] if bad else []), *map(clean, one["why"])]
            if one["tail"]:
                verdicts.setdefault(clean(one["tail"]), []).append(label)
            if one["gold"]:
                said.append(gold_words(one["gold"]))
            if said:
                yield f"{lead}{label}: {'; '.join(said)}"
    for verdict, labels in sorted(verdicts.items()):
        every = lead and len(labels) == len(tails.names) > 2
        yield f"{lead}{verdict} (single seed): {'all' if every else _listed(labels)}"


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MOST_LISTED} more" if len(labels) > MOST_LISTED else ""
    return ", ".join(labels[:MOST_LISTED]) + more


def gold_words(gold: dict[str, Any]) -> str:
    """What the gold labels say of the highest scores."""
    top = f"{figure(gold['top_mean'])} in the top 1 % ({gold['top_n']})"
    return f"gold {figure(gold['mean'])} ({gold['n']}), {top}"


def headline(one: dict[str, Any] | None) -> str:
    """The most telling figure of a run in a family: where it lies beside the reference."""
    beside = one["beside_reference"] if one else None
    if not beside:
        return ""
    parts = []
    if beside["above_p99_5"]:
        parts.append(f"{share(beside['above_p99_5'])} >ref")
    if beside["median_shift"] is not None:
        parts.append(f"{shift(beside['median_shift'])} IQR")
    return ", ".join(parts)


EXPLANATIONS = (
    ("scores", "a reward model's raw numbers, never clipped; one axis for all families and runs. b"
     " turns from the task's to the one that the runs were trained with, if it is one, and back"),
    ("n", "scores of the family, 4 samples of each of 500 prompts at temperature 1; ✗ not finite"),
    ("p50 ... max", "numpy's quantiles (linear) of the finite scores"),
    ("ratio", "tail ratio (p99.5 - p50)/IQR: 1.9 for a normal, 4.2 for an exponential"),
    ("intervals", "95 %, from a bootstrap over prompts: samples of a prompt are not independent"),
    (">ref p99.5", "share of the run's scores beyond the reference's p99.5; the interval counts"
     " prompts and takes that quantile as known"),
    ("shift", "median less the reference's median, in IQRs of the reference. A run that has"
     " collapsed onto the tail has a small ratio of its own and a large shift"),
    ("withheld", "p99, p99.5 and the ratio of fewer than 2000 scores, where ten would lie beyond"),
    ("heavier", "whether the excesses over p95 or p98 vary more than an exponential's (bootstrap"
     " 5 % bound of their coefficient of variation above 1.05). Finding no evidence does not make"
     " a tail light: of 2000 scores of a t(3), two in three samples show none"),
    ("single seed", "one run, one reward model: how seeds differ is not in the intervals"),
)  # fmt: skip
