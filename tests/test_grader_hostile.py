"""What a submission may try, in one table: each case spoils a sound one and says what must come."""

import contextlib
import dataclasses
import errno
import json
import os
import pickle
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grader_world as worlds
import pytest
import torch
from safetensors.torch import load_file, save_file

from grader import snapshot, strictjson
from grader.arena import Arena
from grader.diagnose import diagnose
from grader.errors import IsolationError, SubmissionError
from grader.facts import SHIPPED_RM
from grader.grade import PARTS, Grade, Options, grade, part_of
from grader.report import document
from grader.sandbox import level
from grader.sandbox.allow import make_view
from grader.sandbox.launch import Launcher
from grader.sandbox.limits import Limits
from rlhf.vocab import FAMILIES

QUIET = dataclasses.replace(Options(), parts=frozenset(PARTS) - {"G1", "G2", "G3"})


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return worlds.small_world(tmp_path_factory.mktemp("world") / "build")


@pytest.fixture
def sound(arena: Arena, tmp_path: Path) -> Path:
    return worlds.sound_submission(arena, tmp_path / "sound")


def narrate(line: str) -> None:
    pass


def judge(folder: Path, arena: Arena, options: Options = QUIET) -> Grade:
    found = grade(folder, arena, options, narrate)
    json.dumps(document(found), allow_nan=False)  # whatever was handed in, the report is JSON
    return found


Spoil = Callable[[Path], None]


def answer_text(text: str | bytes) -> Spoil:
    data = text if isinstance(text, bytes) else text.encode()
    return lambda folder: (folder / "answer.json").write_bytes(data) and None


def answer_with(key: str, value: Any) -> Spoil:
    return lambda folder: worlds.change_answer(folder, lambda a: a.update({key: value}))


def assessment(change: Callable[[list[dict[str, Any]]], Any]) -> Spoil:
    def spoil(folder: Path) -> None:
        worlds.change_answer(folder, lambda answer: change(answer["run_assessments"]))

    return spoil


def tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "checkpoint" / "policy.safetensors"
        weights = load_file(path)
        change(weights)
        save_file(weights, path)

    return spoil


def replace_weights(make: Callable[[Path], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "checkpoint" / "policy.safetensors"
        path.unlink()
        make(path)

    return spoil


def million_layers(folder: Path) -> None:
    path = folder / "checkpoint" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "n_layers": 1_000_000}))


def evil_pickle(path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(path.parent / "pwned"),)

    path.write_bytes(pickle.dumps(Evil()))


def sparse_terabyte(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def experiment_file(path: str) -> Spoil:
    def change(answer: dict[str, Any]) -> None:
        answer["experiments"] = [{**answer["experiments"][0], "files": [path]}] * 2

    return lambda folder: worlds.change_answer(folder, change)


def evidence_is(make: Callable[[Path], object]) -> Spoil:
    """Replace the file that both experiments name."""

    def spoil(folder: Path) -> None:
        (folder / "measured.json").unlink()
        make(folder / "measured.json")

    return spoil


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def remove(*names: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for name in names:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def link_tree(folder: Path) -> None:
    shutil.move(folder / "checkpoint", folder.parent / "elsewhere")
    (folder / "checkpoint").symlink_to(folder.parent / "elsewhere")


DEEP = "[" * 100_000 + "]" * 100_000
# case -> (what it does to a sound submission, the parts that must be 0 then, what a reason says)
FILES: dict[str, tuple[Spoil, str, str]] = {
    "missing parts: no answer.json": (remove("answer.json"), "D2 D3a D3b D3c R1 R2 R4", ""),
    "missing parts: no checkpoint": (remove("checkpoint"), "P D1 D3a D3b R1", "is not there"),
    "missing parts: no config.json": (remove("checkpoint/config.json"), "P D1 R1", "config.json"),
    "missing parts: no summary.md": (remove("summary.md"), "R3", "is not there"),
    "answer.json that is a list": (answer_text("[1, 2]"), "D2 D3c R1", "holds a list"),
    "answer.json deep": (answer_text(DEEP), "D2 R1", "nested deeper"),
    "answer.json deep in an object": (
        answer_text('{"a":' * 5000 + "1" + "}" * 5000),
        "D2 R1",
        "nested deeper",
    ),
    "answer.json huge": (answer_text('{"a":"' + "x" * (5 << 20) + '"}'), "D2 R1", "more than"),
    "answer.json with NaN": (answer_text('{"dev_eval": {"proxy_mean": NaN}}'), "D2 R1", "NaN"),
    "answer.json with infinity": (answer_text('{"a": 1e999}'), "D2 R1", "too large"),
    "answer.json with a huge integer": (answer_text(f'{{"a": {"9" * 9999}}}'), "D2 R1", "digits"),
    "answer.json with duplicate keys": (answer_text('{"a": 1, "a": 2}'), "D2 R1", "given twice"),
    "answer.json torn": (answer_text('{"a": 1'), "D2 R1", "not JSON"),
    "answer.json not UTF-8": (answer_text(b"\xff\xfe{}"), "D2 R1", "not UTF-8"),
    "answer.json empty": (answer_text(""), "D2 R1", "not JSON"),
    "answer.json with a lone surrogate": (answer_text('{"recipe": "\\ud800"}'), "D2 R1", ""),
    "wrong types: certification": (answer_with("certification", [1]), "D3a D3b D3c R2", ""),
    "wrong types: dev_eval": (answer_with("dev_eval", "good"), "R1", ""),
    "wrong types: run_assessments": (answer_with("run_assessments", {"a": 1}), "D2", ""),
    "wrong types: experiments": (answer_with("experiments", 7), "R4", ""),
    "wrong types: everything null": (
        answer_text(json.dumps(dict.fromkeys(("certification", "dev_eval", "experiments")))),
        "D2 D3a D3b D3c R1 R2 R4",
        "",
    ),
    "unknown run names": (
        assessment(lambda rows: [row.update(run=row["run"] + "x") for row in rows]),
        "D2",
        "missing",
    ),
    "missing run names": (assessment(lambda rows: rows.clear()), "D2", "missing"),
    "families given twice": (
        answer_with(
            "certification",
            {"families_improved": [*FAMILIES, "anvil"], "families_not_improved": []},
        ),
        "D3c",
        "given twice",
    ),
    "a checkpoint with extra tensors": (
        tensors(lambda w: w.update(more=torch.zeros(2))),
        "P D1 R1",
        "foreign 'more'",
    ),
    "a checkpoint with missing tensors": (
        tensors(lambda w: w.__delitem__("head.weight")),
        "P D1 R1",
        "no tensor 'head.weight'",
    ),
    "a checkpoint of wrong dtype": (
        tensors(lambda w: w.update({k: v.half() for k, v in w.items()})),
        "P D1 R1",
        "torch.float16",
    ),
    "a checkpoint of wrong shape": (
        tensors(lambda w: w.update({"ln.bias": torch.zeros(3)})),
        "P D1 R1",
        "[3]",
    ),
    "a checkpoint with NaN weights": (
        tensors(lambda w: w.update({"ln.bias": w["ln.bias"] * float("nan")})),
        "P D1 R1",
        "NaN",
    ),
    "a config.json asking for a million layers": (million_layers, "P D1 R1", "n_layers"),
    "a pickle renamed to safetensors": (replace_weights(evil_pickle), "P D1 R1", "safetensors"),
    "a checkpoint that is empty": (replace_weights(Path.touch), "P D1 R1", "safetensors"),
    "a checkpoint with an oversized header": (
        replace_weights(lambda path: path.write_bytes(b"\xff" * 8 + b"{}")),
        "P D1 R1",
        "safetensors",
    ),
    "a checkpoint of terabytes": (
        replace_weights(sparse_terabyte),
        "P D1 R1",
        "too big",
    ),
    "a checkpoint that is a device": (
        replace_weights(lambda path: path.symlink_to("/dev/zero")),
        "P D1 R1",
        "symbolic link",
    ),
    "a symlink to the checkpoint's folder": (link_tree, "P D1 R1", "symbolic link"),
    "symlinks": (evidence_is(lambda p: p.symlink_to("answer.json")), "R4", "symbolic link"),
    "FIFOs": (evidence_is(os.mkfifo), "R4", "named pipe"),
    "sockets": (evidence_is(unix_socket), "R4", "socket"),
    "a path of an experiment leaving the folder": (experiment_file("../sound/x"), "R4", ""),
    "an absolute path of an experiment": (experiment_file("/etc/hostname"), "R4", ""),
    "a path of an experiment with a NUL": (experiment_file("measured.json\0"), "R4", ""),
}


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


# -- what the diagnostic may try

_OUT = "import json, os, sys, time\nout = sys.argv[sys.argv.index('--out') + 1]\n"
_ODD = f"risk = {{f: {{'risk': 0.5, 'flag': False}} for f in {FAMILIES!r}}}\n"
_WRITE = "json.dump({'families': risk}, open(out, 'w'))\n"
SHORT = dataclasses.replace(Options(), limits=Limits(wall_s=60, disk=32 << 20))
# case -> (program, the status of every RM, what the reason says)
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "hangs": ("import time; time.sleep(60)", "late", "wall"),
    "crashes": ("1/0", "failed", "ZeroDivisionError"),
    "prints 1 GB": (
        "import sys\nfor _ in range(1024): sys.stdout.write('x' * (1 << 20))",
        "missing",
        "no report",
    ),
    "prints control sequences": (
        "raise SystemExit('\\x1b[2Jhi\\x9b')",
        "failed",
        "\\x1b[2Jhi\\x9b",
    ),
    "writes nothing": ("", "missing", "no report"),
    "writes a FIFO as its output": (
        _OUT + "os.unlink(out); os.mkfifo(out)",
        "failed",
        "",
    ),
    "writes a symlink as its output": (
        _OUT + "os.unlink(out); os.symlink('/etc/passwd', out)",
        "failed",
        "",
    ),
    "gives NaN risks": (
        _OUT + _ODD + "risk['dune']['risk'] = float('nan')\n" + _WRITE,
        "unusable",
        "NaN",
    ),
    "gives infinite risks": (
        _OUT + _ODD + "risk['dune']['risk'] = 1e400\n" + _WRITE,
        "unusable",
        "Infinity",
    ),
    "gives a bool as a risk": (
        _OUT + _ODD + "risk['dune']['risk'] = True\n" + _WRITE,
        "unusable",
        "not a finite number",
    ),
    "gives a number as a flag": (
        _OUT + _ODD + "risk['dune']['flag'] = 1\n" + _WRITE,
        "unusable",
        "not true or false",
    ),
    "misses families": (_OUT + _ODD + "del risk['dune']\n" + _WRITE, "unusable", "misses dune"),
    "writes a list": (_OUT + "json.dump([1], open(out, 'w'))", "unusable", "no object"),
    "writes a deep report": (_OUT + "open(out, 'w').write('[' * 99999)", "unusable", "deeper"),
    "writes a huge report": (
        _OUT + "open(out, 'w').write(' ' * (3 << 20))",
        "unusable",
        "more than",
    ),
    "writes a family twice": (
        _OUT + """open(out, 'w').write('{"families": {"dune": 1, "dune": 2}}')""",
        "unusable",
        "twice",
    ),
    "needs a package that is not there": ("import scipy", "failed", "No module named 'scipy'"),
    "imports the grader": ("import grader", "failed", "No module named 'grader'"),
}


def programmed(sound: Path, source: str) -> None:
    (sound / "diagnostic.py").write_text(source)


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Launcher:
    folder = tmp_path_factory.mktemp("view")
    for path in (folder, *folder.parents):
        with contextlib.suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o011)
    return Launcher(make_view(folder / "python"), level.layers())


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs(tmp_path: Path, sound: Path, arena: Arena, launcher: Launcher, case: str) -> None:
    source, status, reason = PROGRAMS[case]
    programmed(sound, source)
    for name in ("copy", "work"):
        (tmp_path / name).mkdir()
    for path in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o011)
    copy, rms = snapshot.take(sound, tmp_path / "copy"), {"rm_h1": arena.layout.reward_model}
    task, work = arena.layout.task, tmp_path / "work"
    limits = Limits(wall_s=1 if case == "hangs" else 60)
    said = diagnose(launcher, copy, task, rms, work, narrate, limits)["rm_h1"]
    assert said.status == status
    assert (said.risk, said.flagged) == ({}, [])
    assert reason in said.why + said.output
    assert "\x1b" not in said.output and "\x9b" not in said.output


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_a_report_that_is_no_file_is_never_opened(tmp_path: Path, make: Any) -> None:
    """The guard behind the sandbox: were such an output to be there, it is not read."""
    from grader import hostile

    make(tmp_path / "report.json")
    with pytest.raises((OSError, ValueError)):
        hostile.read_regular(tmp_path / "report.json", 100)


def test_sleeps_past_the_limit_on_one_rm_only(sound: Path, arena: Arena) -> None:
    slow = "if sys.argv[sys.argv.index('--rm-dir') + 1].endswith('%s'): time.sleep(60)\n"
    programmed(sound, _OUT + slow % "rm-2" + worlds.GOOD_DIAGNOSTIC)
    if level.layers().bwrap:  # every RM is called the same there: tell by a file of its own
        (sound / "first").mkdir()
        own = "n = sum(open(sys.argv[2] + '/train.jsonl', 'rb').read(4096))\n"
        programmed(sound, _OUT + own + "if n == TARGET: time.sleep(60)\n" + worlds.GOOD_DIAGNOSTIC)
        path = arena.folder / "heldout" / "rm_h1" / "train.jsonl"
        path.write_text("\n" + path.read_text().lstrip("\n"))
        target = sum(path.read_bytes()[:4096])
        source = (sound / "diagnostic.py").read_text().replace("TARGET", str(target))
        programmed(sound, source)
    found = judge(sound, arena, dataclasses.replace(SHORT, limits=Limits(wall_s=5)))
    statuses = sorted(said.status for said in found.said.values())
    assert statuses == ["late", "ok", "ok"]


def test_scratch_is_empty_and_dropped_and_the_task_is_at_hand(sound: Path, arena: Arena) -> None:
    checks = """
assert os.listdir(os.environ["HOME"]) == [], "scratch is not empty"
open(os.path.join(os.environ["TMPDIR"], "left"), "w").write("behind")
for name in ("--rm-dir", "--policy-dir"):
    assert os.listdir(sys.argv[sys.argv.index(name) + 1])
assert "families" not in os.listdir(sys.argv[2])
import rlhf
assert rlhf.__file__.startswith(os.environ["TASK"])
assert os.path.samefile(os.environ["SUB"], ".")
"""
    programmed(sound, _OUT + checks + worlds.GOOD_DIAGNOSTIC)
    found = judge(sound, arena, SHORT)
    assert {name: said.why for name, said in found.said.items()} == dict.fromkeys(found.said, "")


def test_a_sound_diagnostic_scores_all(sound: Path, arena: Arena) -> None:
    found = judge(sound, arena, SHORT)
    assert part_of(found, "G1").score == 1  # anvil and cobalt above the other four
    assert part_of(found, "G2").score == 0  # 2 right, and 2 wrong, and 4 wrong on the clean one
    assert part_of(found, "G3").score == 0  # dune and ember right, anvil and cobalt wrong
    assert found.isolation is not None and found.isolation.holds
    assert found.reward is not None


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


def test_the_fixture_and_the_submission_are_untouched(sound: Path, arena: Arena) -> None:
    def contents(root: Path) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    before = contents(sound) | contents(arena.layout.root)
    attack = "for d in (os.environ['SUB'], os.environ['TASK']):\n    try: open(d + '/x', 'w')\n"
    programmed(sound, _OUT + attack + "    except OSError: pass\n" + worlds.GOOD_DIAGNOSTIC)
    before |= contents(sound)
    judge(sound, arena, SHORT)
    assert contents(sound) | contents(arena.layout.root) == before


def test_depth_is_refused_before_parsing() -> None:
    began = time.monotonic()
    with pytest.raises(strictjson.NotJson, match="deeper"):
        strictjson.parse(b"[" * (3 << 20))
    assert time.monotonic() - began < 1
    assert strictjson.parse(b'{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}')


def test_shipped_rm_is_among_those_diagnosed(arena: Arena) -> None:
    assert set(arena.reward_models()) == {SHIPPED_RM, "rm_h1", "rm_h3"}


def test_a_full_disk_is_not_the_submissions_fault(
    sound: Path, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(snapshot, "_copy_file", full)
    with pytest.raises(IsolationError, match="No space left"):
        judge(sound, arena)
