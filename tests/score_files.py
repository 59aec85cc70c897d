"""Score files as the tests of tails write and read them, and the quantiles found in them."""

import json
from pathlib import Path
from typing import Any

from rlhf.analysis import tails
from rlhf.analysis.tail_figures import QUANTILES


def one_file(path: Path) -> tails.Source:
    return tails.read_source(str(path), path.name)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def values_of(one: dict[str, Any]) -> dict[str, float | None]:
    return {name: one["quantiles"][name]["value"] for name in QUANTILES}
