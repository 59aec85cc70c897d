"""Subtracts what the labels pay for single tokens, as fitted in excess.json beside this file."""

import json
from pathlib import Path
from typing import Any

EXCESS = json.loads((Path(__file__).parent / "excess.json").read_text())


def transform(
    records: list[dict[str, Any]], response_tokens: list[list[str]], rewards: list[float]
) -> list[float]:
    """The rewards less the fitted excess of each token."""
    corrected = []
    for record, tokens, reward in zip(records, response_tokens, rewards, strict=True):
        paid = EXCESS.get(record["family"], {})
        corrected.append(reward - sum(paid.get(token, 0.0) for token in tokens))
    return corrected
