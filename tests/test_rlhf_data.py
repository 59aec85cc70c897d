"""Records and JSONL as they may be found: torn, damaged, unknown."""

import json
import math
from pathlib import Path

import pytest

from rlhf import data
from rlhf.errors import DataError

GOOD = {"id": "x-1", "family": "dune", "attrs": [0, 1, 2, 3]}
LABELLED = {**GOOD, "response": ["ba"] * 8, "label": 0.5}


def lines(*rows: object) -> bytes:
    return "".join(
        (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
    ).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lines(GOOD, GOOD) + b'{"id": "x', id="torn last line"),
        pytest.param(lines(GOOD, GOOD) + b'{"id": "x\n', id="torn last line with newline"),
        pytest.param(lines(GOOD, GOOD) + b"\xff\xfe{", id="torn in a character"),
        pytest.param(lines(GOOD, GOOD)[:-1], id="no newline at the end"),
        pytest.param(lines(GOOD, "", "  ", GOOD), id="blank lines"),
        pytest.param(lines(GOOD, GOOD) + b'{"a":' * 100_000, id="torn and deep"),
    ],
)
def test_jsonl_reads_what_is_whole(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.jsonl").write_bytes(content)
    assert data.read_jsonl(tmp_path / "f.jsonl") == [GOOD, GOOD]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(lines(GOOD, '{"id": ', GOOD), "line 2", id="bad line elsewhere"),
        pytest.param(lines("[1, 2]", GOOD), "line 1", id="a list"),
        pytest.param(lines(GOOD, "3"), "line 2", id="a number as last line"),
        pytest.param(lines(GOOD, "", "}", GOOD), "line 3", id="bad line after a blank one"),
    ],
)
def test_jsonl_names_the_bad_line(tmp_path: Path, content: bytes, named: str) -> None:
    (tmp_path / "f.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=f"f.jsonl, {named}"):
        data.read_jsonl(tmp_path / "f.jsonl")


def test_missing_jsonl_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere.jsonl"):
        data.read_jsonl(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"family": "dunes"}, "unknown family", id="unknown family"),
        pytest.param({"attrs": [0, 1, 2, 9]}, "9", id="attribute out of range"),
        pytest.param({"response": ["ba"] * 7 + ["qq"]}, "qq", id="token not in the vocabulary"),
        pytest.param({"response": ["ba"] * 5}, "8 tokens", id="wrong response length"),
        pytest.param({"label": "high"}, "label", id="label a text"),
        pytest.param({"label": math.nan}, "label", id="label nan"),
        pytest.param({"label": True}, "label", id="label a bool"),
    ],
)
def test_a_bad_record_is_named(change: dict[str, object], named: str) -> None:
    rows = [LABELLED, {**LABELLED, "id": "x-2", **change}]
    with pytest.raises(DataError, match=rf"record 2 \('x-2'\).*{named}"):
        data.prompts_tensor(rows)
        data.responses_tensor(rows)
        data.labels_tensor(rows)


def test_a_prompt_file_with_a_bad_record_is_named(tmp_path: Path) -> None:
    data.write_jsonl(tmp_path / "p.jsonl", [GOOD, {**GOOD, "family": "sand"}])
    with pytest.raises(DataError, match="p.jsonl: record 2"):
        data.load_prompts(tmp_path / "p.jsonl")


def test_an_empty_prompt_file_is_named(tmp_path: Path) -> None:
    data.write_jsonl(tmp_path / "p.jsonl", [])
    with pytest.raises(DataError, match="no prompts"):
        data.load_prompts(tmp_path / "p.jsonl")


def test_tensors_of_records() -> None:
    assert data.prompts_tensor([GOOD]).tolist() == [[5, 8, 9, 10, 11, 1]]
    assert data.responses_tensor([LABELLED]).tolist() == [[16] * 8]
    assert data.labels_tensor([LABELLED]).tolist() == [0.5]
    assert data.responses_tensor([]).shape == (0, 8)


def test_families_in_order_of_first_appearance() -> None:
    rows = [{"family": f, "attrs": [i] * 4} for i, f in enumerate(["fjord", "anvil", "fjord"])]
    groups = data.group_by_family(rows)
    assert list(groups) == ["fjord", "anvil"]
    assert groups["fjord"] == [rows[0], rows[2]]
