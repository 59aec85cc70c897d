"""What a reward model says to one response, and what each position's token contributes.

    python -m rlhf.analysis.probe --reward-model DIR

says {ready, reward_model} once the folder is loaded, and answers each line {"prompt":
"dune v0 v1 v2 v3", "response": "pa pa ..."} of its standard input with a line {score, positions} or
{error}. A position's contribution is the score minus the mean score over the 23 responses that have
another content token there and are otherwise the same.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import torch

from .. import cli
from ..config import task_path
from ..errors import DataError
from ..kernels import prepare_process
from ..reward_model import RewardModel, load_rm, score
from ..runlog import dumps
from ..vocab import (
    CONTENT,
    CONTENT_HI,
    CONTENT_LO,
    N_ATTR,
    RESP_LEN,
    encode_prompt,
    encode_response,
)


def parse_prompt(text: str) -> list[int]:
    """The 6 ids of a prompt written as `dune v0 v1 v2 v3`. Raises DataError."""
    family, *values = text.split() or [""]
    values = [value for value in values if value != "<sep>"]
    if len(values) != N_ATTR or not all(v[:1] == "v" and v[1:].isdigit() for v in values):
        raise DataError(f"a prompt is a family and {N_ATTR} values v0..v7, found {text!r:.80}")
    return encode_prompt(family.strip("<>"), [int(value[1:]) for value in values])


def probe(rm: RewardModel, prompt: str, response: str) -> dict[str, Any]:
    """{score, positions: [{token, contribution, best, worst}]}. Raises DataError."""
    prompt_ids, response_ids = parse_prompt(prompt), encode_response(response.split())
    prompt_row, response_row = torch.tensor([prompt_ids]), torch.tensor([response_ids])
    rows = response_row.repeat(RESP_LEN * len(CONTENT), 1)  # [8*24, 8]
    swapped = rows.view(RESP_LEN, len(CONTENT), RESP_LEN)
    for position in range(RESP_LEN):
        swapped[position, :, position] = torch.arange(CONTENT_LO, CONTENT_HI)
    scores = score(rm, prompt_row.expand(len(rows), -1), rows)
    by_position = scores.view(RESP_LEN, len(CONTENT)).tolist()
    whole = score(rm, prompt_row, response_row).item()  # alone: a batch rounds otherwise
    tokens = response.split()
    positions = [_position(tokens[i], whole, by_position[i]) for i in range(RESP_LEN)]
    return {"score": whole, "positions": positions}


def _position(token: str, whole: float, scores: Sequence[float]) -> dict[str, Any]:
    others = {name: value for name, value in zip(CONTENT, scores, strict=True) if name != token}
    best, worst = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
    return {
        "token": token,
        "contribution": whole - sum(others.values()) / len(others),
        "best": {"token": best, "score": others[best]},
        "worst": {"token": worst, "score": others[worst]},
    }


def answer(rm: RewardModel, line: str) -> dict[str, Any]:
    """The answer to one line; an error is an answer too."""
    try:
        asked = json.loads(line)
        return probe(rm, str(asked["prompt"]), str(asked["response"]))
    except DataError as error:
        return {"error": str(error)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {"error": "a line is a JSON object with prompt and response"}


def _run(args: argparse.Namespace) -> None:
    folder = task_path(args.reward_model)
    rm = load_rm(folder)[0]
    print(dumps({"ready": True, "reward_model": folder}), flush=True)
    for line in sys.stdin:
        print(dumps(answer(rm, line)), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """The command `python -m rlhf.analysis.probe`."""
    name = "python -m rlhf.analysis.probe"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--reward-model", default="/task/reward_model")
    args = parser.parse_args(argv)
    prepare_process()
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
