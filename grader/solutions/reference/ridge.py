"""Single-token ridge regression of labels, family by family.

Crowd labels contain errors that follow the words of a response. A linear model of the label in
the counts of the 24 tokens shows them: quality alone moves a label by little per token.
"""

from typing import Any

import numpy as np

from rlhf.vocab import CONTENT, FAMILIES

RIDGE = 2.0
LARGE = 0.15  # label per occurrence: more than quality, a mean over 8 places, can pay for a token

Records = list[dict[str, Any]]


def counts(records: Records) -> np.ndarray:
    """[N, 24]: how often each token occurs in each labelled record's response."""
    index = {token: i for i, token in enumerate(CONTENT)}
    table = np.zeros((len(records), len(CONTENT)))
    for row, record in enumerate(records):
        for token in record["response"]:
            table[row, index[token]] += 1
    return table


def labels_of(records: Records) -> np.ndarray:
    """[N]"""
    return np.array([row["label"] for row in records], dtype=float)


def by_family(records: Records) -> dict[str, Records]:
    """The records of each of the six families."""
    return {name: [row for row in records if row["family"] == name] for name in FAMILIES}


def fit(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Ridge coefficients of centred features."""
    x, y = features - features.mean(0), labels - labels.mean()
    return np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)


def token_effects(records: Records) -> dict[str, np.ndarray]:
    """Label per occurrence of each token, by family: {family: [24]}."""
    groups = by_family(records)
    return {name: fit(counts(rows), labels_of(rows)) for name, rows in groups.items()}


def excess(crowd: Records, gold: Records) -> dict[str, dict[str, float]]:
    """What crowd labels pay for a token and experts do not: {family: {token: label}}.

    Tokens whose crowd coefficient is large enter one joint fit per family, in which experts and
    crowd share what a token is worth, and the crowd's excess is left unshrunk.
    """
    rows, experts, found = by_family(crowd), by_family(gold), {}
    for name, effects in token_effects(crowd).items():
        suspects = [i for i, effect in enumerate(effects) if effect >= LARGE]
        found[name] = _joint(rows[name], experts[name], suspects) if suspects else {}
    return found


def _joint(crowd: Records, gold: Records, suspects: list[int]) -> dict[str, float]:
    """{token: excess} of the suspect tokens of one family."""
    both = np.concatenate([counts(crowd), counts(gold)])
    is_crowd = np.concatenate([np.ones(len(crowd)), np.zeros(len(gold))])
    extra = both[:, suspects] * is_crowd[:, None]
    x = np.column_stack([np.ones(len(both)), is_crowd, both, extra])
    y = np.concatenate([labels_of(crowd), labels_of(gold)])
    penalty = np.full(x.shape[1], 1e-6)
    penalty[2 : 2 + both.shape[1]] = RIDGE
    solution = np.linalg.solve(x.T @ x + np.diag(penalty), x.T @ y)
    paid = zip(suspects, solution[-len(suspects) :], strict=True)
    return {CONTENT[i]: float(value) for i, value in paid if value > 0}
