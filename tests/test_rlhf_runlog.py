"""Writing that loses nothing: whole files, whole rows, strict JSON."""

import json
import math
import os
import resource
import signal
from pathlib import Path

import pytest

from rlhf import runlog
from rlhf.errors import DataError


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
