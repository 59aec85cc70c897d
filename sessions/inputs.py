"""The files a run depends on, and their hashes: what it was made from, and what changed since."""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import InputError
from .runfiles import open_plain

WEIGHTS = {"policy_init": "policy.safetensors", "policy_ref": "policy.safetensors"}
WEIGHTS["reward_model"] = "rm.safetensors"
HEADER_LIMIT = 100_000_000  # bytes; safetensors' own bound

Hashes = dict[str, dict[str, str]]


def input_files(config: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Per input of a resolved config, the files it consists of."""
    files = {
        key: [Path(config[key]) / weights, Path(config[key]) / "config.json"]
        for key, weights in WEIGHTS.items()
        if config.get(key)
    }
    for key in ("prompt_file", "reward_wrapper"):
        if config.get(key):
            files[key] = [Path(config[key])]
    return files


def hash_inputs(config: Mapping[str, Any]) -> Hashes:
    """Per input, its path and one sha256 over its files. Raises InputError if one is missing."""
    return {
        key: {"path": str(config[key]), "sha256": hash_files(paths)}
        for key, paths in input_files(config).items()
    }


def hash_files(paths: Iterable[Path]) -> str:
    """One sha256 over the names and contents of `paths`. Raises InputError."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name}\0{hash_file(path)}\n".encode())
    return total.hexdigest()


def hash_file(path: Path) -> str:
    """sha256 of one file. Raises InputError if it cannot be read."""
    try:
        with open_plain(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError(f"{path}: {reason}", str(path)) from error


def changed_inputs(hashes: Mapping[str, Any]) -> list[str]:
    """What is wrong with recorded inputs now, one line each; nothing if all are as they were."""
    found = []
    for key, was in hashes.items():
        if not isinstance(was, Mapping) or not isinstance(was.get("path"), str):
            found.append(f"{key}: what it was is not on record")
            continue
        paths = input_files({key: was["path"]}).get(key, [])
        try:
            now = hash_files(paths)
        except InputError as error:
            found.append(f"{key}: {error}")
            continue
        if now != was.get("sha256"):
            found.append(f"{key}: {was['path']} has changed")
    return found


def package_dir(name: str = "rlhf") -> Path:
    """The folder of one of our packages, found without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the package {name!r} is not installed: reinstall rlhf-tui")
    return Path(next(iter(spec.submodule_search_locations)))


def hash_code() -> str:
    """One sha256 over the sources of `rlhf` that train a policy."""
    root = package_dir()
    return hash_files(sorted(root.glob("*.py")))


def check_weights(path: Path) -> None:
    """Raise InputError unless `path` is a whole safetensors file: its header tells its length."""
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if length <= min(size, HEADER_LIMIT) else b""
        entries = json.loads(header)
        end = max((e["data_offsets"][1] for k, e in entries.items() if k != "__metadata__"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} has no valid safetensors header", str(path)) from error
    expected = 8 + length + end
    if size != expected:
        raise InputError(f"{path} has {size} bytes, its header says {expected}", str(path))
