"""The tails of reward-model scores, per family, of several score files on one axis.

    python -m rlhf.analysis.tails FILE [FILE ...] [--reference FILE] [--name NAME ...] [--out FILE]

prints, and with --out writes, one JSON document: per family and file the counts of every bin
(one set of edges from the lowest to the highest finite score of all of them), quantiles with
95 % intervals, the tail ratio (p99.5 - p50)/IQR, how many scores were not finite, and how a file
differs from the reference. See rlhf.analysis.scorefile for what a file may hold. No reference that
names its families is a match for files that name none: they are without it, and `alone` says so.
"""

import argparse
import hashlib
import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .. import cli
from ..config import integer
from ..errors import DataError
from ..runlog import dumps, write_json
from .scorefile import ONE_GROUP, Bad, Row, read_scores
from .tail_compare import beside, gold_of_top
from .tail_figures import ENOUGH, Clusters, Scores, edges_over, figures, histogram

BINS = 72
MOST_FAMILIES = 40  # told apart in one file
OTHERS = "(other families)"
MOST_SCORES = 10_000_000  # of one file: 24 bytes of memory each
MOST_PROBLEMS = 20  # of one file that are told in full


@dataclass
class Group:
    """What a file holds of one family; `scores` are the finite ones."""

    scores: "array[float]" = field(default_factory=lambda: array("d"))
    clusters: "array[int]" = field(default_factory=lambda: array("q"))
    gold: "array[float]" = field(default_factory=lambda: array("d"))
    n: int = 0
    nan: int = 0
    pos_inf: int = 0
    neg_inf: int = 0
    missing: int = 0
    unnamed: int = 0  # finite scores that name no prompt
    rated: int = 0  # finite scores with a gold label

    def add(self, row: Row) -> None:
        """Count a row, and keep its score if that is finite."""
        self.n += 1
        if row.score is None:
            self.missing += 1
        elif math.isfinite(row.score):
            self._keep(row, row.score)
        elif math.isnan(row.score):
            self.nan += 1
        elif row.score > 0:
            self.pos_inf += 1
        else:
            self.neg_inf += 1

    def _keep(self, row: Row, score: float) -> None:
        rated = row.gold is not None and math.isfinite(row.gold)
        self.scores.append(score)
        self.gold.append(row.gold if rated and row.gold is not None else math.nan)
        self.clusters.append(0 if row.cluster is None else _number_of(row.cluster))
        self.unnamed += row.cluster is None
        self.rated += rated

    @property
    def finite(self) -> Scores:
        """The finite scores [N], in the file's order."""
        return np.array(self.scores, dtype=np.float64)

    @property
    def prompts(self) -> Clusters | None:
        """The number of each score's prompt [N]; None unless every one is known."""
        known = self.scores and not self.unnamed
        return np.array(self.clusters, dtype=np.int64) if known else None


def _number_of(name: str) -> int:
    """A number for a prompt's name, the same in every process (as hash() is not)."""
    digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass
class Source:
    """One file's scores by family, and the lines that could not be read."""

    name: str
    path: str = ""
    groups: dict[str, Group] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)
    bad_lines: int = 0

    def take(self, rows: Iterable[Row | Bad]) -> "Source":
        """Read rows. Raises DataError if there are too many."""
        for count, row in enumerate(rows, start=1):
            if count > MOST_SCORES:
                raise DataError(f"{self.path} has more than {MOST_SCORES} rows: split it")
            if isinstance(row, Bad):
                self.bad_lines += 1
                if len(self.problems) < MOST_PROBLEMS:
                    self.problems.append({"line": row.line, "message": row.why})
            else:
                self._group(row.family).add(row)
        return self

    def _group(self, family: str) -> Group:
        if family not in self.groups and len(self.groups) >= MOST_FAMILIES:
            family = OTHERS
        return self.groups.setdefault(family, Group())


def read_source(path: str, name: str) -> Source:
    """A score file. Raises DataError if it cannot be read or holds no row."""
    source = Source(name, path).take(read_scores(path))
    if not source.groups:
        first = "; ".join(f"line {p['line']} {p['message']}" for p in source.problems[:1])
        raise DataError(f"{path} holds no score{': ' if first else ''}{first}")
    return source


def tails(
    sources: Sequence[Source], reference: bool = False, bins: int = BINS, seed: int = 0
) -> dict[str, Any]:
    """The document; with `reference` the first source is what the others are compared to."""
    alone = _why_alone(sources, reference)
    if alone and reference:
        sources, reference = sources[1:], False
    names = list(dict.fromkeys(chain.from_iterable(source.groups for source in sources)))
    ends = [
        end
        for source in sources
        for group in source.groups.values()
        if group.scores
        for end in (min(group.scores), max(group.scores))
    ]
    edges = edges_over(min(ends), max(ends), bins) if ends else None
    families = {name: _family(name, sources, reference, edges, seed) for name in names}
    return {
        "format": 1,
        "sources": [_about(source) for source in sources],
        "reference": reference,
        "alone": alone,
        "enough": ENOUGH,
        "edges": [] if edges is None else edges.tolist(),
        "families": families,
    }


def _why_alone(sources: Sequence[Source], reference: bool) -> str | None:
    """Why no reference is beside the files: scores of unknown prompts are no match for it."""
    others = [set(source.groups) for source in sources[reference:]]
    one_group = reference and ONE_GROUP in sources[0].groups
    if not others or one_group or any(one != {ONE_GROUP} for one in others):
        return None
    if len(others) > 1:
        return "the files name no family: shown without the reference"
    return "the file names no family: shown alone"


def _about(source: Source) -> dict[str, Any]:
    fields = ("name", "path", "bad_lines", "problems")
    return {key: getattr(source, key) for key in fields}


def _family(
    name: str, sources: Sequence[Source], reference: bool, edges: Scores | None, seed: int
) -> list[dict[str, Any]]:
    groups = [source.groups.get(name, Group()) for source in sources]
    found = [one(group, edges, seed) for group in groups]
    if reference:
        for group, figure in zip(groups[1:], found[1:], strict=True):
            figure["beside_reference"] = beside(
                group.finite, group.prompts, groups[0].finite, groups[0].prompts
            )
    return found


def one(group: Group, edges: Scores | None, seed: int = 0) -> dict[str, Any]:
    """The figures of one family in one file."""
    scores, prompts = group.finite, group.prompts
    kinds = ("nan", "pos_inf", "neg_inf", "missing")
    return {
        "n": group.n,
        "n_finite": len(scores),
        **{kind: getattr(group, kind) for kind in kinds},
        "prompts": None if prompts is None else len(np.unique(prompts)),
        "counts": [] if edges is None else histogram(scores, edges),
        **(figures(scores, prompts, seed) | ({} if group.n else {"why": ["no scores"]})),
        "gold": gold_of_top(scores, np.array(group.gold)) if group.rated else None,
        "beside_reference": None,
    }


def of_rows(rows_by_family: Mapping[str, Iterable[float]]) -> dict[str, Any]:
    """`tails` of bare scores by family."""
    source = Source("scores")
    for family, scores in rows_by_family.items():
        rows = (Row(i, family, score, None, None, {}) for i, score in enumerate(scores, start=1))
        source.take(rows)
    return tails([source])


def _run(args: argparse.Namespace) -> None:
    paths = [*([args.reference] if args.reference else []), *args.files]
    names = (args.name or []) + [Path(path).name for path in paths[len(args.name or []) :]]
    sources = []
    for done, (path, name) in enumerate(zip(paths, names, strict=False)):
        cli.narrate(f"progress {done}/{len(paths)}")
        sources.append(read_source(path, name))
    found = tails(sources, bool(args.reference), integer("bins", args.bins, low=1))
    if args.out:
        write_json(Path(args.out), found)
    else:
        print(dumps(found, indent=1))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.tails`."""
    name = "python -m rlhf.analysis.tails"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("files", nargs="+", help="score files, JSONL or CSV")
    parser.add_argument("--reference", help="the score file that the others are compared to")
    parser.add_argument("--name", action="append", help="names, in order, the reference's first")
    parser.add_argument("--bins", type=int, default=BINS)
    parser.add_argument("--out", help="write the JSON here instead of printing it")
    args = parser.parse_args(argv)
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
