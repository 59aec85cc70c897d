"""A training short enough for a test, and what it left."""

from pathlib import Path
from typing import Any

from rlhf import runlog

QUICK = {"steps": 12, "log_every": 4, "batch_prompts": 4, "samples_per_prompt": 4}


def rows_of(out: Path) -> list[dict[str, Any]]:
    rows = runlog.read_log(out / "log.jsonl").rows
    return [{k: v for k, v in row.items() if k != "elapsed_s"} for row in rows]


def same(a: Path, b: Path) -> bool:
    weights = "policy.safetensors"
    return (a / weights).read_bytes() == (b / weights).read_bytes() and rows_of(a) == rows_of(b)


def receipt(out: Path) -> dict[str, Any]:
    return runlog.read_json(out / "done.json")
