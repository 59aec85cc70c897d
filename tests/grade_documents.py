"""Grades as the grader writes them, made up."""

import json
from pathlib import Path
from typing import Any


def grade_document(reward: float = 0.5, why: str = "lowest is dune", **more: Any) -> dict[str, Any]:
    """A grade with two parts, one of which lost points."""
    evidence = [{"read": "gain, dune", "found": -0.2, "expected": 0.0}]
    parts = {
        "D1": {"score": 0.0, "weight": 0.1, "why": why, "evidence": evidence},
        "D2": {"score": 0.5, "weight": 0.3, "why": "wrong: kl05", "evidence": []},
        "D3c": {"score": 1.0, "weight": 0.1, "why": "they do", "evidence": []},
    }
    isolation = {"level": "namespaces", "abi": 7, "canary": {"truth": True}}
    return {
        "format": 1,
        "submission": "sub",
        "reward": reward,
        "invalid": 0,
        "skipped": [],
        "components": {"decision": {"score": 0.4, "weight": 0.25, "parts": parts}},
        "rms": [{"name": "rm_h1", "status": "ok", "cpu_s": 0.2}],
        "isolation": isolation,
        "hashes": {"submission": "ab" * 32},
        **more,
    }


def keep(workspace: Path, name: str, document: Any) -> None:
    """A kept grade."""
    folder = workspace / "grades" / name
    folder.mkdir(parents=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / "grade.json").write_text(text)
