"""Models as they may be found: torn, damaged, foreign; and their names and bytes."""

import math
import struct
from pathlib import Path

import pytest
import torch
from conftest import TASK

from rlhf import checkpoint, runlog
from rlhf.errors import CheckpointError
from rlhf.model import Policy, default_config, load_policy, save_policy
from rlhf.reward_model import load_rm


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
