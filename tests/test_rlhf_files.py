"""Files as they may be found: torn, damaged, hostile; and writing that loses nothing."""

import json
import math
import os
import resource
import signal
import struct
from pathlib import Path

import pytest
import torch
from conftest import TASK

from rlhf import checkpoint, data, runlog
from rlhf.errors import CheckpointError, DataError
from rlhf.model import Policy, default_config, load_policy, save_policy
from rlhf.reward_model import load_rm

GOOD = {"id": "x-1", "family": "dune", "attrs": [0, 1, 2, 3]}
LABELLED = {**GOOD, "response": ["ba"] * 8, "label": 0.5}


def lines(*rows: object) -> bytes:
    return "".join(
        (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
    ).encode()


# -- JSONL


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


# -- safetensors


@pytest.fixture
def policy_dir(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    policy = Policy(default_config())
    save_policy(policy, policy.cfg, str(tmp_path))
    return tmp_path


def rewrite(folder: Path, **tensors: torch.Tensor) -> None:
    found = checkpoint.read_tensors(folder / "policy.safetensors")
    checkpoint.write_tensors(folder / "policy.safetensors", {**found, **tensors})


def test_missing_weights(policy_dir: Path) -> None:
    (policy_dir / "policy.safetensors").unlink()
    with pytest.raises(CheckpointError, match="policy.safetensors"):
        load_policy(str(policy_dir))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00" * 7, id="shorter than its header's length"),
        pytest.param(struct.pack("<Q", 2**60) + b"{}", id="oversized header"),
        pytest.param(struct.pack("<Q", 10) + b"not a json", id="header is no JSON"),
        pytest.param(b"\x80\x04\x95 pickle", id="a pickle"),
    ],
)
def test_damaged_weights(policy_dir: Path, content: bytes) -> None:
    (policy_dir / "policy.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match="policy.safetensors"):
        load_policy(str(policy_dir))


def test_truncated_weights(policy_dir: Path) -> None:
    path = policy_dir / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="policy.safetensors"):
        load_policy(str(policy_dir))


@pytest.mark.parametrize(
    ("tensors", "named"),
    [
        pytest.param({"ln.bias": torch.zeros(65)}, r"\[65\].*expected.*\[64\]", id="wrong shape"),
        pytest.param({"ln.bias": torch.zeros(64).half()}, "float16", id="wrong dtype"),
        pytest.param({"extra": torch.zeros(1)}, "extra", id="extra tensor"),
        pytest.param({"ln.bias": torch.full((64,), math.nan)}, "NaN", id="nan weights"),
    ],
)
def test_foreign_weights(policy_dir: Path, tensors: dict[str, torch.Tensor], named: str) -> None:
    rewrite(policy_dir, **tensors)
    with pytest.raises(CheckpointError, match=named):
        load_policy(str(policy_dir))


def test_missing_tensor(policy_dir: Path) -> None:
    found = checkpoint.read_tensors(policy_dir / "policy.safetensors")
    del found["ln.bias"]
    checkpoint.write_tensors(policy_dir / "policy.safetensors", found)
    with pytest.raises(CheckpointError, match="no tensor 'ln.bias'"):
        load_policy(str(policy_dir))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"n_layers": 10**6}, "n_layers is 1000000", id="a million layers"),
        pytest.param({"n_layers": 0}, "n_layers", id="no layers"),
        pytest.param({"n_layers": 2.0}, "n_layers", id="a float"),
        pytest.param({"vocab_size": 41}, "vocab_size", id="another vocabulary"),
        pytest.param({"seq_len": 15}, "seq_len", id="another length"),
        pytest.param({"n_heads": 3}, "multiple", id="heads that do not divide"),
        pytest.param({"d_ff": None}, "d_ff", id="a null"),
    ],
)
def test_a_bad_shape_is_named(policy_dir: Path, change: dict[str, object], named: str) -> None:
    runlog.write_json(policy_dir / "config.json", {**default_config(), **change})
    with pytest.raises(CheckpointError, match=named):
        load_policy(str(policy_dir))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"[" * 100_000, b"{}", b"\xff", b" " * 10**6]
)
def test_a_damaged_config_is_named(policy_dir: Path, content: bytes) -> None:
    (policy_dir / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load_policy(str(policy_dir))


def test_other_shapes_load(tmp_path: Path) -> None:
    policy = Policy({**default_config(), "d_model": 32, "n_layers": 3, "n_heads": 2})
    save_policy(policy, policy.cfg, str(tmp_path))
    assert load_policy(str(tmp_path))[1]["n_layers"] == 3


def test_shipped_models_have_the_contract_names() -> None:
    policy = checkpoint.read_tensors(TASK / "policy" / "policy.safetensors")
    assert {"tok.weight", "pos.weight", "ln.weight", "ln.bias", "head.weight"} <= policy.keys()
    assert policy["blocks.0.attn.qkv.weight"].shape == (192, 64)
    assert policy["blocks.1.ff.0.weight"].shape == (128, 64)
    assert policy["blocks.1.ff.2.bias"].shape == (64,)
    assert "head.bias" not in policy
    rm = checkpoint.read_tensors(TASK / "reward_model" / "rm.safetensors")
    assert rm["head.0.weight"].shape == (96, 96) and rm["head.2.bias"].shape == (1,)
    load_rm(str(TASK / "reward_model"))


def test_equal_weights_give_equal_bytes(policy_dir: Path, tmp_path: Path) -> None:
    before = (policy_dir / "policy.safetensors").read_bytes()
    policy, cfg = load_policy(str(policy_dir))
    save_policy(policy, cfg, str(policy_dir))
    assert (policy_dir / "policy.safetensors").read_bytes() == before


# -- writing


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    runlog.replace_file(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        runlog.replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root, replacing would take /dev/null from the whole machine."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        runlog.replace_file(path, b"data")
        assert os.read(reader, 10) == b"data" and path.is_fifo()
    finally:
        os.close(reader)


def test_a_row_that_does_not_fit_on_the_disk_is_an_error_and_leaves_no_piece(
    tmp_path: Path,
) -> None:
    """A write that meets the file size limit is short, like one that meets a full disk."""
    path, limit = tmp_path / "log.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    runlog.append_row(path, {"step": 1})
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, limit[1]))
        with pytest.raises(OSError, match="No space"):
            runlog.append_row(path, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    runlog.append_row(path, {"step": 3})
    assert runlog.read_log(path) == runlog.Log([{"step": 1}, {"step": 3}])


def test_files_are_readable_by_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        runlog.replace_file(tmp_path / "f", b"")
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_rows_are_strict_json(tmp_path: Path) -> None:
    runlog.append_row(tmp_path / "log.jsonl", {"a": math.nan, "b": [math.inf], "c": {"d": 1.5}})
    runlog.append_row(tmp_path / "log.jsonl", {"a": 1})
    assert runlog.read_log(tmp_path / "log.jsonl").rows == [
        {"a": None, "b": [None], "c": {"d": 1.5}},
        {"a": 1},
    ]


def test_canonical_hash_ignores_time_and_nothing_else(tmp_path: Path) -> None:
    def digest(**row: object) -> str:
        (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
        return runlog.canonical_sha256(tmp_path / "log.jsonl")

    assert digest(step=1, elapsed_s=1) == digest(step=1, elapsed_s=2)
    assert digest(step=1, elapsed_s=1) != digest(step=2, elapsed_s=1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"nul"])
def test_a_damaged_json_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(DataError, match=r"f\.json"):
        runlog.read_json(tmp_path / "f.json")
