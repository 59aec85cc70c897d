"""Weights and their shape on disk: safetensors beside a config.json, each replaced atomically."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from .errors import CheckpointError
from .runlog import replace_file, write_json

CONFIG = "config.json"
_MAX_CONFIG_BYTES = 1 << 16
_MAX_FILE_BYTES = 1 << 28
# the most that each entry of a shape may be: a config.json is input, and may ask for anything
_LIMITS = {"d_model": 1024, "n_layers": 16, "n_heads": 64, "d_ff": 4096}


def checked_shape(cfg: Mapping[str, Any], default: Mapping[str, int]) -> dict[str, int]:
    """`cfg` with exactly the keys of `default`, all sane integers. Raises CheckpointError.

    Vocabulary and lengths are fixed by the task, so they must equal the default's.
    """
    missing = [key for key in default if key not in cfg]
    if missing:
        raise CheckpointError(f"the model's config has no {missing[0]!r}")
    shape = {}
    for key, expected in default.items():
        value = cfg[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise CheckpointError(f"the model's config: {key} is {value!r:.40}, not an integer")
        if key not in _LIMITS and value != expected:
            raise CheckpointError(f"the model's config: {key} is {value}, expected {expected}")
        if key in _LIMITS and not 1 <= value <= _LIMITS[key]:
            raise CheckpointError(
                f"the model's config: {key} is {value}, expected 1 to {_LIMITS[key]}"
            )
        shape[key] = value
    if shape["d_model"] % shape["n_heads"]:
        raise CheckpointError("the model's config: d_model is not a multiple of n_heads")
    return shape


def load_shape(directory: str | os.PathLike[str], default: Mapping[str, int]) -> dict[str, int]:
    """The shape in a folder's config.json. Raises CheckpointError naming the file."""
    path = Path(directory) / CONFIG
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            raise CheckpointError(f"{path} is larger than a model's config can be")
        cfg = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(cfg, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    try:
        return checked_shape(cfg, default)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """All tensors of a safetensors file. Raises CheckpointError naming the file and the fault."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > _MAX_FILE_BYTES:
            raise CheckpointError(f"{path} has {size} bytes, more than any model of this kind")
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        reason = error.strerror or "not found"
        raise CheckpointError(f"cannot read {path}: {reason}") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error


def load_weights(model: nn.Module, directory: str | os.PathLike[str], name: str) -> None:
    """Fill `model` from a folder's safetensors file; every tensor must be there, and no other.

    Raises CheckpointError saying what was expected and what was found.
    """
    path = Path(directory) / name
    found, wanted = read_tensors(path), model.state_dict()
    missing, extra = sorted(wanted.keys() - found), sorted(found.keys() - wanted)
    if missing or extra:
        what = f"has no tensor {missing[0]!r}" if missing else f"holds a foreign {extra[0]!r:.80}"
        raise CheckpointError(f"{path} {what}")
    for key, tensor in wanted.items():
        _check_tensor(f"{path}: {key}", found[key], tensor)
    model.load_state_dict(found)


def _check_tensor(where: str, found: Tensor, expected: Tensor) -> None:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise CheckpointError(
            f"{where} is {found.dtype} {list(found.shape)},"
            f" expected {expected.dtype} {list(expected.shape)}"
        )
    if not torch.isfinite(found).all():
        raise CheckpointError(f"{where} holds NaN or infinite weights")


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Tensor]) -> None:
    """Replace a safetensors file atomically; equal tensors give equal bytes."""
    replace_file(Path(path), save({key: tensors[key].contiguous() for key in sorted(tensors)}))


def save_model(
    model: nn.Module, cfg: Mapping[str, int], directory: str | os.PathLike[str], name: str
) -> None:
    """Write a model's weights and config.json into a folder, made if need be."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    write_tensors(Path(directory) / name, model.state_dict())
    write_json(Path(directory) / CONFIG, dict(cfg))
