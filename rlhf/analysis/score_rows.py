"""The responses behind part of a histogram: rows of a score file by family and score.

    python -m rlhf.analysis.score_rows FILE [--family F --low X --high Y --closed --limit 200 ...]

writes {format, total, rows}: the first `limit` rows with low <= score < high (<= high with
--closed), or with --nonfinite those whose score is none, NaN or infinite.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import cli
from ..runlog import write_json
from .scorefile import Row, good_rows, read_scores

LIMIT = 200
LONGEST = 400  # characters of a prompt or response that are passed on


class Wanted(NamedTuple):
    """Which rows: of a family (None: of all), with scores from `low` to `high`."""

    family: str | None = None
    low: float = -math.inf
    high: float = math.inf
    closed: bool = False  # whether `high` itself belongs
    nonfinite: bool = False

    def holds(self, row: Row) -> bool:
        """Whether the row is wanted."""
        if self.family is not None and row.family != self.family:
            return False
        if row.score is None or not math.isfinite(row.score):
            return self.nonfinite
        inside = self.low <= row.score < self.high or (self.closed and row.score == self.high)
        return inside and not self.nonfinite


def behind(rows: Iterable[Row], wanted: Wanted, limit: int = LIMIT) -> dict[str, Any]:
    """{format, total, rows}: how many rows are wanted, and the first `limit` of them."""
    kept: list[dict[str, Any]] = []
    total = 0
    for row in rows:
        if wanted.holds(row):
            total += 1
            if len(kept) < limit:
                kept.append(_shown(row))
    return {"format": 1, "total": total, "rows": kept}


def _shown(row: Row) -> dict[str, Any]:
    kept = {key: _text(row.fields.get(key)) for key in ("id", "prompt", "response")}
    kl = row.fields.get("kl")
    finite = row.score is not None and math.isfinite(row.score)
    score = row.score if finite else "missing" if row.score is None else str(row.score)
    return {"line": row.line, "family": row.family, **kept, "score": score, "kl": _number(kl)}


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return (" ".join(map(str, value)) if isinstance(value, list) else str(value))[:LONGEST]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _run(args: argparse.Namespace) -> None:
    wanted = Wanted(args.family, args.low, args.high, args.closed, args.nonfinite)
    write_json(Path(args.out), behind(good_rows(read_scores(args.file)), wanted, args.limit))


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.score_rows`."""
    name = "python -m rlhf.analysis.score_rows"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("file", help="a score file, JSONL or CSV")
    parser.add_argument("--family")
    parser.add_argument("--low", type=float, default=-math.inf)
    parser.add_argument("--high", type=float, default=math.inf)
    parser.add_argument("--closed", action="store_true", help="a score of HIGH belongs")
    parser.add_argument("--nonfinite", action="store_true", help="scores that are no number")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--out", default="/dev/stdout", help="write the JSON here")
    args = parser.parse_args(argv)
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
