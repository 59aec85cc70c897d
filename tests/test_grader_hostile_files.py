"""Submissions whose files are hostile, odd, missing, or change while they are graded."""

import errno
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from grader_judge import SHORT, judge
from hostile_submissions import FILES
from sandbox_field import CONTAINED

from grader import snapshot, strictjson
from grader.arena import Arena
from grader.errors import IsolationError, SubmissionError
from grader.grade import Options, grade, part_of
from grader.report import document


@pytest.mark.parametrize("case", FILES)
def test_files(sound: Path, arena: Arena, case: str) -> None:
    spoil, lost, reason = FILES[case]
    spoil(sound)
    found = judge(sound, arena)
    for name in lost.split():
        assert part_of(found, name).score == 0, name
    assert not found.invalid
    text = json.dumps(document(found))
    assert reason in text
    assert not (sound / "checkpoint" / "pwned").exists()


def test_the_sound_submission_loses_nothing_there(sound: Path, arena: Arena) -> None:
    found = judge(sound, arena)
    for name in ("D2", "D3c", "R1", "R3", "R4"):
        assert part_of(found, name).score == 1, (name, part_of(found, name).why)
    assert found.submission.problems == {}


def test_device_files(sound: Path, arena: Arena) -> None:
    (sound / "measured.json").unlink()
    try:
        os.mknod(sound / "measured.json", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    found = judge(sound, arena)
    assert part_of(found, "R4").score == 0
    assert "a device" in found.submission.problems["measured.json"]


def test_empty_folder(tmp_path: Path, arena: Arena) -> None:
    (tmp_path / "empty").mkdir()
    found = judge(tmp_path / "empty", arena, Options())
    assert (found.reward, found.invalid) == (0.0, True)


@pytest.mark.parametrize("answer", ["[]", "{", "", '{"a": NaN}'])
def test_no_usable_answer_and_no_checkpoint_is_invalid(
    tmp_path: Path, arena: Arena, answer: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "answer.json").write_text(answer)
    assert judge(tmp_path / "sub", arena, Options()).invalid


def test_a_folder_that_is_not_there(tmp_path: Path, arena: Arena) -> None:
    with pytest.raises(SubmissionError, match="No such file"):
        judge(tmp_path / "nothing", arena)


def test_symlinks_to_the_truth_are_neither_read_nor_copied(sound: Path, arena: Arena) -> None:
    (sound / "answer.json").unlink()
    (sound / "answer.json").symlink_to(arena.folder / "truth.json")
    (sound / "all").symlink_to(arena.folder)
    copy = sound.parent / "copy"
    copy.mkdir()
    taken = snapshot.take(sound, copy)
    assert taken.problems == {"all": "is a symbolic link", "answer.json": "is a symbolic link"}
    assert not list(copy.glob("all*")) and not (copy / "answer.json").exists()


def test_too_many_files_too_deep_too_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MAX_ENTRIES": 20, "MAX_DEPTH": 3, "MAX_FILE": 100}.items():
        monkeypatch.setattr(snapshot, name, value)
    source, copy = tmp_path / "in", tmp_path / "copy"
    (source / "a/b/c/d/e").mkdir(parents=True)
    (source / "big").write_bytes(b"x" * 101)
    for index in range(40):
        (source / f"z{index:02d}").touch()
    copy.mkdir()
    taken = snapshot.take(source, copy)
    assert taken.problems == {".": "holds more than 20 entries"}
    shutil.rmtree(copy)
    copy.mkdir()
    for path in source.glob("z*"):
        path.unlink()
    taken = snapshot.take(source, copy)
    assert taken.problems == {
        "a/b/c/d": "is nested deeper than 3 folders",
        "big": "is too big: 101 bytes, at most 100",
    }


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    source, copy = tmp_path / "in", tmp_path / "copy"
    source.mkdir(), copy.mkdir()
    (source / "f").write_bytes(b"x")
    real = snapshot.hashlib.sha256

    def grow(*arguments: bytes) -> Any:
        """Called just after the file was opened and its size taken."""
        (source / "f").write_bytes(b"y" * 50)
        return real(*arguments)

    snapshot.hashlib.sha256 = grow  # type: ignore[assignment]
    try:
        taken = snapshot.take(source, copy)
    finally:
        snapshot.hashlib.sha256 = real
    assert taken.problems == {"f": "changed while it was read"}
    assert not (copy / "f").exists()


@CONTAINED
def test_two_grades_of_one_folder_at_once(sound: Path, arena: Arena) -> None:
    found: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append(document(judge(sound, arena, SHORT))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stable(found[0]) == stable(found[1])


def stable(found: dict[str, Any]) -> dict[str, Any]:
    """A document without what may differ between two grades."""
    rms = [{key: value for key, value in rm.items() if key != "cpu_s"} for rm in found["rms"]]
    return {**{key: value for key, value in found.items() if key != "timing"}, "rms": rms}


@CONTAINED
def test_a_folder_that_changes_while_it_is_graded(sound: Path, arena: Arena) -> None:
    """What counts is what was there at the start."""
    undisturbed = stable(document(judge(sound, arena, SHORT)))
    stages: list[str] = []

    def disturb(line: str) -> None:
        stages.append(line)
        if line.startswith("proving"):
            for path in (sound / "answer.json", sound / "diagnostic.py"):
                path.write_text("changed")
            shutil.rmtree(sound / "checkpoint")

    found = document(grade(sound, arena, SHORT, disturb))
    assert any(line.startswith("proving") for line in stages)
    assert stable(found) == undisturbed


def test_depth_is_refused_before_parsing() -> None:
    began = time.process_time()
    with pytest.raises(strictjson.NotJson, match="deeper"):
        strictjson.parse(b"[" * (3 << 20))
    assert time.process_time() - began < 1
    assert strictjson.parse(b'{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}')


def test_a_full_disk_is_not_the_submissions_fault(
    sound: Path, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(snapshot, "_copy_file", full)
    with pytest.raises(IsolationError, match="No space left"):
        judge(sound, arena)
