"""What a policy says: its highest, lowest and random responses, and the tokens it favours, where.

    python -m rlhf.analysis.samples FILE --reference FILE [--top 20 ... --out FILE]

reads two score files (rlhf.analysis.scores) of the same prompts. A token is over-represented in a
family if its share of the policy's tokens is at least TIMES its share of the reference's, and
the lower end of that ratio's interval is above 1. Shares are per prompt, so that the samples of
one prompt count as one observation; SMOOTHING occurrences are added to both counts, so a token that
the reference never says has a ratio; the interval is the delta method's on the log ratio, at 95 %
jointly for all tokens of a family (Bonferroni). The same is done for each position of a response,
jointly for all tokens and positions; of each the most over-represented token is told.

Equal responses to one prompt are shown once, with `count`, how often they are in the file.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from .. import cli
from ..config import integer
from ..runlog import write_json
from ..vocab import CONTENT, RESP_LEN
from .scorefile import Row, good_rows, read_scores

TIMES = 1.5
LEVEL = 0.95
SMOOTHING = 0.5  # occurrences
COUNT = 20  # responses of each kind


class Shares(NamedTuple):
    """Token shares of one policy in one family, per prompt [P, 24], and tokens counted."""

    by_prompt: np.ndarray
    tokens: int


def shares(rows: Sequence[Row], prompts: Mapping[str, int], part: slice = slice(None)) -> Shares:
    """Shares of the 24 content tokens in a part of each prompt's responses.

    Rows of other prompts are out.
    """
    place = {token: number for number, token in enumerate(CONTENT)}
    counts = np.zeros((len(prompts), len(CONTENT)))
    for row in rows:
        cluster = prompts.get(row.cluster or "")
        if cluster is not None:
            for token in words(row)[part]:
                if token in place:
                    counts[cluster, place[token]] += 1
    totals = counts.sum(1, keepdims=True)
    return Shares(counts / np.maximum(totals, 1), int(totals.sum()))


def words(row: Row) -> list[str]:
    """A response's tokens, written as a string or as a list."""
    said = row.fields.get("response") or ""
    return [str(token) for token in said] if isinstance(said, list) else str(said).split()


def favoured(
    policy: Shares, reference: Shares, compared: int = len(CONTENT)
) -> list[dict[str, Any]]:
    """Every content token's share, the reference's, their ratio with its interval; most first.

    The intervals are joint for so many comparisons.
    """
    P, z = len(policy.by_prompt), NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / compared)
    p, p_se = _smoothed(policy)
    r, r_se = _smoothed(reference)
    ratio = p / r
    spread = np.exp(z * np.hypot(p_se / p, r_se / r)) if P > 1 else np.full(len(CONTENT), np.inf)
    rows = [
        {
            "token": token,
            "share": float(policy.by_prompt[:, n].mean()) if P else 0.0,
            "reference": float(reference.by_prompt[:, n].mean()) if P else 0.0,
            "ratio": float(ratio[n]),
            "low": float(ratio[n] / spread[n]),
            "high": float(ratio[n] * spread[n]) if math.isfinite(spread[n]) else None,
            "over": bool(ratio[n] >= TIMES and ratio[n] / spread[n] > 1),
        }
        for n, token in enumerate(CONTENT)
    ]
    return sorted(rows, key=lambda row: -float(row["ratio"]))


def _smoothed(one: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Mean shares [24] with SMOOTHING added, and their standard errors over prompts."""
    P = max(1, len(one.by_prompt))
    mean = one.by_prompt.mean(0) if len(one.by_prompt) else np.zeros(len(CONTENT))
    mean = (mean * one.tokens + SMOOTHING) / (one.tokens + SMOOTHING * len(CONTENT))
    se = one.by_prompt.std(0, ddof=1) / math.sqrt(P) if P > 1 else np.zeros(len(CONTENT))
    # a share without any spread (no occurrence, or nothing else) is not known exactly
    return mean, np.maximum(se, np.sqrt(mean * (1 - mean) / max(1, one.tokens)))


def by_position(
    rows: Sequence[Row], reference: Sequence[Row], prompts: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Of each position the token with the highest ratio, of those that are over if any is.

    As in `favoured`, with its position from 1 and n, the responses that have a token there.
    """
    found = []
    for at in range(RESP_LEN):
        here = slice(at, at + 1)
        own = shares(rows, prompts, here)
        told = favoured(own, shares(reference, prompts, here), len(CONTENT) * RESP_LEN)
        most = next((row for row in told if row["over"]), told[0])
        found.append({"position": at + 1, "n": own.tokens, **most})
    return found


class Counts(NamedTuple):
    """How many responses of each kind, and the seed of the random ones."""

    top: int = COUNT
    bottom: int = COUNT
    random: int = COUNT
    seed: int = 0


def family_samples(rows: Sequence[Row], counts: Counts) -> dict[str, Any]:
    """{n, distinct, nonfinite, highest, lowest, random} of a family; ties keep the file's order."""
    finite = [row for row in rows if row.score is not None and math.isfinite(row.score)]
    down = sorted(finite, key=lambda row: -float(row.score or 0))
    up = sorted(finite, key=lambda row: float(row.score or 0))
    generator = np.random.default_rng(counts.seed)
    drawn = merged([rows[number] for number in generator.permutation(len(rows))])
    return {
        "n": len(rows),
        "distinct": len(drawn),
        "nonfinite": len(rows) - len(finite),
        "highest": [_shown(*one) for one in merged(down)[: counts.top]],
        "lowest": [_shown(*one) for one in merged(up)[: counts.bottom]],
        "random": [_shown(*one) for one in drawn[: counts.random]],
    }


def merged(rows: Iterable[Row]) -> list[tuple[Row, int]]:
    """The first row of each prompt and response, and how many there are, in the rows' order."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        prompt = row.fields.get("prompt") or row.cluster or f"line {row.line}"
        groups.setdefault((str(prompt), *words(row)), []).append(row)
    return [(group[0], len(group)) for group in groups.values()]


def _shown(row: Row, count: int) -> dict[str, Any]:
    kept = {key: row.fields.get(key) for key in ("id", "prompt", "kl")}
    score = row.score if row.score is None or math.isfinite(row.score) else str(row.score)
    return {**kept, "response": " ".join(words(row)), "score": score, "count": count}


def samples(
    policy: Iterable[Row], reference: Iterable[Row], counts: Counts | None = None
) -> dict[str, Any]:
    """The document: per family samples and `tokens`, in order of first appearance."""
    groups, ground = _by_family(policy), _by_family(reference)
    families = {}
    for family, rows in groups.items():
        beside = ground.get(family, [])
        clusters = {row.cluster for row in rows} & {row.cluster for row in beside} - {None}
        prompts = {str(name): number for number, name in enumerate(sorted(map(str, clusters)))}
        tokens = favoured(shares(rows, prompts), shares(beside, prompts)) if prompts else []
        families[family] = {
            **family_samples(rows, counts or Counts()),
            "prompts": len(prompts),
            "tokens": tokens,
            "positions": by_position(rows, beside, prompts) if prompts else [],
        }
    rule = {"times": TIMES, "level": LEVEL, "smoothing": SMOOTHING, "tokens": len(CONTENT)}
    return {"format": 1, "families": families, "rule": rule, "length": RESP_LEN}


def _by_family(rows: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.family, []).append(row)
    return groups


def _run(args: argparse.Namespace) -> None:
    numbers = [integer(name, getattr(args, name)) for name in ("top", "bottom", "random", "seed")]
    policy, reference = (good_rows(read_scores(path)) for path in (args.file, args.reference))
    write_json(Path(args.out), samples(policy, reference, Counts(*numbers)))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.samples`."""
    name = "python -m rlhf.analysis.samples"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("file", help="the policy's score file")
    parser.add_argument("--reference", required=True, help="the reference's score file")
    parser.add_argument("--top", type=int, default=COUNT, help="highest responses a family")
    parser.add_argument("--bottom", type=int, default=COUNT, help="lowest responses a family")
    parser.add_argument("--random", type=int, default=COUNT, help="random responses a family")
    parser.add_argument("--seed", type=int, default=0, help="of the random ones")
    parser.add_argument("--out", default="/dev/stdout", help="write the JSON here")
    args = parser.parse_args(argv)
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
