"""The probe: its score is the reward model's own, a contribution is the difference to swaps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from rlhf.analysis.probe import answer, parse_prompt, probe
from rlhf.errors import DataError
from rlhf.reward_model import load_rm, score
from rlhf.vocab import CONTENT, CONTENT_LO, TOKENS, encode_response

ROOT = Path(__file__).resolve().parents[1]
SHIPPED_RM = ROOT / "fixture" / "task" / "reward_model"
PROMPT, RESPONSE = "dune v0 v1 v2 v3", "pa ka pa ba ke he ba pa"


class Linear:
    """A reward model that adds up a weight for each token and place; it sees no interactions."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.weights = torch.randn(14, len(TOKENS), generator=generator, dtype=torch.float64)

    def __call__(self, ids: Tensor) -> Tensor:
        return self.weights[torch.arange(14), ids].sum(1)


def test_the_score_is_that_of_the_reward_model_to_the_bit() -> None:
    rm = load_rm(str(SHIPPED_RM))[0]
    prompt = torch.tensor([parse_prompt(PROMPT)])
    response = torch.tensor([encode_response(RESPONSE.split())])
    found = probe(rm, PROMPT, RESPONSE)
    assert found["score"] == score(rm, prompt, response).item()
    for number in (0, 7):
        swapped = RESPONSE.split()
        best = found["positions"][number]["best"]
        swapped[number] = best["token"]
        other = torch.tensor([encode_response(swapped)])
        assert best["score"] == pytest.approx(score(rm, prompt, other).item(), abs=1e-5)


def test_a_contribution_is_the_score_minus_the_mean_over_the_23_swaps() -> None:
    rm = Linear()
    found = probe(rm, PROMPT, RESPONSE)  # type: ignore[arg-type]
    for number, one in enumerate(found["positions"]):
        row = rm.weights[6 + number, CONTENT_LO : CONTENT_LO + 24].tolist()
        weights = dict(zip(CONTENT, row, strict=True))
        own = weights.pop(one["token"])
        assert len(weights) == 23
        assert one["contribution"] == pytest.approx(own - sum(weights.values()) / 23, abs=1e-5)
        assert one["best"]["token"] == max(weights, key=weights.__getitem__)
        assert one["worst"]["token"] == min(weights, key=weights.__getitem__)
        gain = one["best"]["score"] - found["score"]
        assert gain == pytest.approx(max(weights.values()) - own, abs=1e-5)


def test_prompts_are_read_as_they_are_written_anywhere() -> None:
    assert parse_prompt("<dune> v0 v1 v2 v3 <sep>") == parse_prompt(PROMPT)
    for wrong in ("", "dune", "dune v0 v1 v2 v9", "dune v0 v1 v2 x", "sand v0 v1 v2 v3"):
        with pytest.raises(DataError):
            parse_prompt(wrong)


LINES = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "",
    "no response": json.dumps({"prompt": PROMPT}),
    "a foreign token": json.dumps({"prompt": PROMPT, "response": "pa " * 7 + "xx"}),
    "seven tokens": json.dumps({"prompt": PROMPT, "response": "pa " * 7}),
    "an unknown family": json.dumps({"prompt": "sand v0 v1 v2 v3", "response": RESPONSE}),
    "nested without end": "[" * 100_000,
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_has_an_error_for_an_answer(name: str) -> None:
    found = answer(Linear(), LINES[name])  # type: ignore[arg-type]
    assert list(found) == ["error"] and found["error"] and "\n" not in found["error"]


def test_a_bad_line_does_not_end_the_child() -> None:
    asked = [LINES["no JSON"], json.dumps({"prompt": PROMPT, "response": RESPONSE})]
    done = subprocess.run(
        [sys.executable, "-m", "rlhf.analysis.probe", "--reward-model", str(SHIPPED_RM)],
        input="\n".join(asked) + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    ready, bad, good = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0 and ready == {"ready": True, "reward_model": str(SHIPPED_RM)}
    assert (
        "error" in bad
        and good["score"] == probe(load_rm(str(SHIPPED_RM))[0], PROMPT, RESPONSE)["score"]
    )
