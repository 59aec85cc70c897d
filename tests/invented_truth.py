"""An invented truth to score against, and what a submission hands in and says."""

import json
from pathlib import Path
from typing import Any

from grader.facts import SHIPPED_RM, Diagnosis, Quality, Status, Truth
from grader.submission import Submission, read
from rlhf.vocab import FAMILIES

RUNS = ("default-s800", "fourfam-s800", "kl002-s1500", "kl05-s800", "pilotmix-s800")


def flat(value: float, **other: float) -> Quality:
    return {**dict.fromkeys(FAMILIES, value), **other}


TRUTH = Truth(
    reference=flat(0.3),
    runs={name: flat(0.34 if name == "fourfam-s800" else 0.25) for name in RUNS},
    strong=flat(0.7),
    planted={
        SHIPPED_RM: ["dune", "ember"],
        "rm_h1": ["cobalt", "ember"],
        "rm_h2": ["anvil"],
        "rm_h3": [],
    },
)


def submission(tmp_path: Path, answer: Any, **files: str) -> Submission:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "answer.json").write_text(json.dumps(answer))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    (tmp_path / "copy").mkdir()
    return read(folder, tmp_path / "copy")


def said(rm: str, risk: Quality, flagged: tuple[str, ...] = (), status: Status = "ok") -> Diagnosis:
    return Diagnosis(rm, status, "", risk, {family: family in flagged for family in FAMILIES})
