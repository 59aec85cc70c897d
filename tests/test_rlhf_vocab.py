"""The vocabulary's order is a contract: checkpoints depend on it."""

import numpy as np
import pytest
import torch

from rlhf import vocab
from rlhf.errors import DataError


def test_order_of_the_forty_tokens() -> None:
    assert len(vocab.TOKENS) == 40
    assert vocab.TOKENS[:3] == ["<pad>", "<sep>", "<anvil>"]
    assert vocab.TOKENS[7:9] == ["<fjord>", "v0"]
    assert vocab.TOKENS[15:18] == ["v7", "ba", "da"]
    assert vocab.TOKENS[32:34] == ["za", "be"]
    assert (vocab.PAD, vocab.SEP) == (0, 1)
    assert vocab.FAM_ID["dune"] == 5
    assert list(range(8, 16)) == vocab.VAL_ID
    assert list(range(16, 40)) == vocab.CONTENT_ID
    assert (vocab.CONTENT_LO, vocab.CONTENT_HI) == (16, 40)
    assert (vocab.PROMPT_LEN, vocab.RESP_LEN, vocab.SEQ_LEN) == (6, 8, 14)


def test_prompt_there_and_back() -> None:
    ids = vocab.encode_prompt("cobalt", [0, 7, 3, 1])
    assert ids == [4, 8, 15, 11, 9, 1]
    assert vocab.decode_prompt(ids) == ("cobalt", [0, 7, 3, 1])
    assert vocab.prompt_from_record({"family": "cobalt", "attrs": [0, 7, 3, 1]}) == ids


def test_response_there_and_back() -> None:
    tokens = ["ba", "ke", "pa", "he", "za", "be", "da", "ba"]
    assert vocab.encode_response(tokens) == [16, 39, 26, 37, 32, 33, 17, 16]
    assert vocab.decode_response(vocab.encode_response(tokens)) == tokens


@pytest.mark.parametrize(
    ("record", "named"),
    [
        pytest.param({"family": "dunes", "attrs": [0] * 4}, "'dune'", id="unknown family"),
        pytest.param({"family": ["dune"], "attrs": [0] * 4}, "unknown family", id="family a list"),
        pytest.param({"family": "dune", "attrs": [0, 1, 2, 8]}, "8", id="attribute out of range"),
        pytest.param({"family": "dune", "attrs": [0, 1, 2, -1]}, "-1", id="attribute negative"),
        pytest.param({"family": "dune", "attrs": [0, 1, 2, True]}, "True", id="attribute a bool"),
        pytest.param({"family": "dune", "attrs": [0, 1, 2]}, "4 integers", id="three attributes"),
        pytest.param({"family": "dune", "attrs": "0123"}, "4 integers", id="attributes a string"),
        pytest.param({"family": "dune"}, "attrs", id="no attributes"),
    ],
)
def test_a_bad_prompt_is_named(record: dict[str, object], named: str) -> None:
    with pytest.raises(DataError, match=named):
        vocab.prompt_from_record(record)


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        pytest.param(["ba"] * 7, "8 tokens", id="seven tokens"),
        pytest.param(["ba"] * 9, "8 tokens", id="nine tokens"),
        pytest.param(["ba"] * 7 + ["xx"], "xx", id="token not in the vocabulary"),
        pytest.param(["ba"] * 7 + ["v0"], "v0", id="token of a prompt"),
        pytest.param(["ba"] * 7 + [["ba"]], "ba", id="token a list"),
        pytest.param("babababa", "8 tokens", id="a string"),
    ],
)
def test_a_bad_response_is_named(tokens: list[str], named: str) -> None:
    with pytest.raises(DataError, match=named):
        vocab.encode_response(tokens)


@pytest.mark.parametrize("ids", [[4, 8, 15, 11, 9, 2], [1, 8, 8, 8, 8, 1], [4, 8, 8, 8, 1], []])
def test_ids_that_spell_no_prompt(ids: list[int]) -> None:
    with pytest.raises(DataError):
        vocab.decode_prompt(ids)


def test_arrays_and_tensors_are_sequences_too() -> None:
    """Outside code draws attributes with numpy or torch."""
    ids = vocab.encode_prompt("cobalt", [0, 7, 3, 1])
    for attrs in (np.array([0, 7, 3, 1]), torch.tensor([0, 7, 3, 1]), list(np.array([0, 7, 3, 1]))):
        found = vocab.encode_prompt("cobalt", attrs)
        assert found == ids and all(type(index) is int for index in found)
        assert vocab.decode_prompt(torch.tensor(found)) == ("cobalt", [0, 7, 3, 1])
    tokens = ["ba", "ke", "pa", "he", "za", "be", "da", "ba"]
    assert vocab.encode_response(np.array(tokens)) == vocab.encode_response(tokens)
    with pytest.raises(DataError, match="not an integer"):
        vocab.encode_prompt("cobalt", np.array([0, 7, 3, 1.5]))
