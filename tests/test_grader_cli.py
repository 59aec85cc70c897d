"""python -m grader, as a script and as a person meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grader_world as worlds
import pytest

from grader import cli, keep
from grader.arena import Arena, at
from grader.errors import Exit, TruthError
from grader.grade import COMPONENTS, PARTS
from grader.sandbox.level import Layers

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return worlds.small_world(tmp_path_factory.mktemp("world") / "build")


@pytest.fixture
def sound(arena: Arena, tmp_path: Path) -> Path:
    return worlds.sound_submission(arena, tmp_path / "sound")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def grade(capsys: Any, arena: Arena, *arguments: object) -> tuple[int, str, str]:
    return run(capsys, "grade", "--fixture", arena.layout.root, *arguments)


def test_json_is_exactly_one_document(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, err = grade(capsys, arena, sound, "--json")
    found = json.loads(out)
    assert code == Exit.OK
    assert (found["format"], found["invalid"], found["skipped"]) == (1, 0, [])
    for name, parts in COMPONENTS.items():
        component = found["components"][name]
        assert tuple(component["parts"]) == parts
        for part in component["parts"].values():
            assert part.keys() == {"score", "weight", "why", "evidence"}
            for row in part["evidence"]:
                assert row.keys() == {"read", "found", "expected"}
    weights = {name: component["weight"] for name, component in found["components"].items()}
    total = sum(weights[name] * found["components"][name]["score"] for name in weights)
    assert found["reward"] == pytest.approx(total, abs=1e-12)
    assert {rm["name"] for rm in found["rms"]} == {"reward_model", "rm_h1", "rm_h3"}
    assert found["isolation"].keys() == {"level", "abi", "canary"}
    assert "measuring the checkpoint" in err


def test_table_names_every_part_and_the_total(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound)
    assert code == Exit.OK
    for name in [*COMPONENTS, *PARTS, "reward", "isolation"]:
        assert name in out
    assert max(map(len, out.splitlines())) <= 80


def test_no_diagnostic_makes_the_reward_null(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json", "--no-diagnostic")
    found = json.loads(out)
    assert code == Exit.OK
    assert found["reward"] is None
    assert found["components"]["diagnosis"]["score"] is None
    assert found["components"]["decision"]["score"] is not None
    assert found["skipped"] == ["G1", "G2", "G3"]
    assert found["isolation"] is None


def test_only_some_parts(capsys: Any, arena: Arena, sound: Path) -> None:
    _, out, _ = grade(capsys, arena, sound, "--json", "--only", "decision, R3")
    found = json.loads(out)
    assert found["components"]["decision"]["score"] is not None
    assert found["components"]["reporting"]["score"] is None
    assert found["components"]["reporting"]["parts"]["R3"]["score"] == 1
    assert set(found["skipped"]) == set(PARTS) - set(COMPONENTS["decision"]) - {"R3"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--min", "0"), Exit.OK),
        (("--min", "0.99"), Exit.NO),
        (("--min", "0.5", "--no-diagnostic"), Exit.USAGE),
        (("--only", "nonsense"), Exit.USAGE),
        (("--nonsense",), Exit.USAGE),
    ],
)
def test_exit_codes(
    capsys: Any, arena: Arena, sound: Path, arguments: tuple[str, ...], code: int
) -> None:
    assert grade(capsys, arena, sound, *arguments)[0] == code


def test_invalid_is_a_document_and_exit_3(capsys: Any, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, _ = grade(capsys, arena, tmp_path / "empty", "--json")
    found = json.loads(out)
    assert (code, found["reward"], found["invalid"]) == (Exit.INVALID, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("grade", "/nowhere", "--json"), Exit.INVALID, "submission"),
        (("grade", "/no\udcffwhere", "--json"), Exit.INVALID, "submission"),
        (("grade", "--json"), Exit.USAGE, "usage"),
        (("grade", "/nowhere", "--json", "--fixture", "/nowhere"), Exit.INVALID, "truth"),
        (("nonsense", "--json"), Exit.USAGE, "usage"),
    ],
)
def test_a_failure_is_one_document_too(
    capsys: Any, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    found_code, out, _ = run(capsys, *arguments)
    error = json.loads(out)["error"]
    assert (found_code, error["kind"]) == (code, kind)
    assert error.keys() == {"kind", "message", "path", "fix"}
    assert "\n" not in error["message"] and "\\ud" not in out


def test_several_folders_one_document(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound, "/nowhere", "--json", "--no-diagnostic")
    first, second = json.loads(out)["grades"]
    assert code == Exit.INVALID
    assert first["invalid"] == 0
    assert second["error"]["kind"] == "submission"


def test_out_writes_the_document(capsys: Any, arena: Arena, sound: Path, tmp_path: Path) -> None:
    before = sorted(sound.rglob("*"))
    grade(capsys, arena, sound, "--no-diagnostic", "--out", tmp_path / "g.json")
    assert json.loads((tmp_path / "g.json").read_text())["format"] == 1
    assert sorted(sound.rglob("*")) == before


def test_grades_are_kept_listed_and_compared(
    capsys: Any, arena: Arena, sound: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        grade(capsys, arena, sound, "--no-diagnostic", "--grades", tmp_path / "grades")
    code, out, _ = run(capsys, "grades", "--grades", tmp_path / "grades", "--json")
    found = json.loads(out)["grades"]
    assert (code, len(found)) == (Exit.OK, 2)
    for identity, document in found.items():
        assert identity.startswith("sound-")
        assert document["format"] == 1
        assert {"fixture", "truth", "submission"} <= document["hashes"].keys()
        assert document["seeds"] and document["grader"]
    (tmp_path / "grades" / "broken").mkdir()
    code, out, err = run(capsys, "grades", "--grades", tmp_path / "grades")
    assert code == Exit.OK
    assert all(identity in out.replace("\n", "") for identity in found) or "sound-" in out
    assert "broken cannot be read" in err
    assert run(capsys, "grades", "x", "--grades", tmp_path / "grades")[0] == Exit.USAGE


def test_an_id_is_made_from_any_name(tmp_path: Path) -> None:
    identity = keep.keep(tmp_path, "\x1b[31m Ärger/../x" + "y" * 500, {"reward": 0}, {})
    assert len(identity) <= 64
    assert identity[0].isalnum() and set(identity) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_truth_of_another_build_is_refused(arena: Arena, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(arena.layout.root, tmp_path / "other")
    record = json.loads((tmp_path / "other" / "build.json").read_text())
    record["world"]["seed"] = 1
    (tmp_path / "other" / "build.json").write_text(json.dumps(record))
    with pytest.raises(TruthError, match="not the truth of this build"):
        at(tmp_path / "other").check()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)]
)
@pytest.mark.parametrize("module", ["grader", "tui.cli"])
def test_ctrl_c_ends_every_child(
    arena: Arena, sound: Path, tmp_path: Path, module: str, number: int, code: int
) -> None:
    (sound / "diagnostic.py").write_text("import os, time\nos.fork()\ntime.sleep(99)\n")
    command = [sys.executable, "-m", module, "grade", str(sound), "--json"]
    workspace = {"RLHF_TUI_WORKSPACE": str(tmp_path / "workspace")}
    process = subprocess.Popen(
        [*command, "--fixture", str(arena.layout.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **workspace},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "running the diagnostic" in line:
            break
    time.sleep(0.8)
    children = _below(process.pid)
    assert len(children) >= 3  # reaper, program, its child
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == code
    assert json.loads(out)["error"]["kind"] == "interrupted"
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_ctrl_c_while_torch_is_imported_is_told_without_torch(words: tuple[str, ...]) -> None:
    interrupted = (
        "import builtins, sys\nfrom grader.cli import main\nreal = builtins.__import__\n"
        "def torn(name, *rest):\n    if name.split('.')[0] == 'torch': raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = torn\nsys.exit(main(sys.argv[1:]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", interrupted, "grade", "/nowhere", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == Exit.INTERRUPTED, ended.stderr
    if words:
        assert json.loads(ended.stdout)["error"]["kind"] == "interrupted"
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("sent", "code"), [("KILL", 4), ("SEGV", 4), ("INT", 130), ("TERM", 143)])
def test_a_grader_that_a_signal_ends_has_an_exit_code_too(
    tmp_path: Path, sent: str, code: int
) -> None:
    grader = tmp_path / "python"
    grader.write_text(f"#!/bin/sh\nkill -{sent} $$\n")
    grader.chmod(0o755)
    console = "import sys\nfrom tui.cli import main\nsys.executable = sys.argv.pop(1)\nmain()\n"
    ended = subprocess.run(
        [sys.executable, "-c", console, str(grader), "grade", "x", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "RLHF_TUI_WORKSPACE": str(tmp_path / "w")},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == code, ended.stderr
    if code == Exit.CANNOT_RUN:
        assert f"SIG{sent}" in json.loads(ended.stdout)["error"]["message"]


def _below(parent: int) -> list[int]:
    """Every process below `parent`."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        parents[int(name)] = int(text.rpartition(")")[2].split()[1])
    found: list[int] = []
    wave = [parent]
    while wave:
        wave = [pid for pid, above in parents.items() if above in wave]
        found += wave
    return found


def test_rlhf_tui_grade_passes_everything_on(arena: Arena, sound: Path, tmp_path: Path) -> None:
    """stdout, exit code, and the grade kept in the workspace; nothing kept when read-only."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    kept = tmp_path / "workspace" / "grades"
    given = ["grade", str(sound), "--fixture", str(arena.layout.root), "--json", "--min", "0.99"]

    def console(*options: str) -> subprocess.CompletedProcess[str]:
        start = [sys.executable, "-m", "tui.cli", "--workspace", str(kept.parent), *options]
        return subprocess.run(start, env=environment, capture_output=True, text=True)

    done = console("--read-only", *given)
    assert (done.returncode, json.loads(done.stdout)["invalid"]) == (Exit.NO, 0)
    assert not kept.exists()
    assert console(*given).returncode == Exit.NO
    assert len(list(kept.iterdir())) == 1
    listed = console("grades", "--json")
    assert list(json.loads(listed.stdout)["grades"]) == [path.name for path in kept.iterdir()]


@pytest.mark.parametrize(
    ("command", "has"), [("grade", "--job"), ("grades", "(default: the workspace's)")]
)
def test_help_is_that_of_the_program_that_was_called(command: str, has: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}

    def helped(*start: str) -> str:
        words = [sys.executable, "-m", *start, command, "--help"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    called, own = helped("tui.cli"), helped("grader")
    assert f"Usage: rlhf-tui {command} [OPTIONS]" in called and "python -m" not in called
    assert has in called and "[required]" not in called
    assert f"Usage: python -m grader {command} [OPTIONS]" in own and has not in own
    assert ("[required]" in own) == (command == "grades")


@pytest.fixture
def unprotected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with none of the layers."""
    monkeypatch.setattr("grader.grade.layers", lambda: Layers((), 0, False, None))


def test_limits_only_refuses(capsys: Any, arena: Arena, sound: Path, unprotected: None) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json")
    error = json.loads(out)["error"]
    assert (code, error["kind"]) == (Exit.CANNOT_RUN, "isolation")
    assert "--allow-unprotected" in error["fix"]


def test_limits_only_runs_when_asked_and_the_grade_says_so(
    capsys: Any, arena: Arena, sound: Path, unprotected: None
) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json", "--allow-unprotected")
    found = json.loads(out)
    assert code == Exit.OK
    assert found["isolation"]["level"] == "limits-only"
    assert not found["isolation"]["canary"]["read"]
    assert {rm["status"] for rm in found["rms"]} == {"ok"}


def test_no_diagnostic_needs_no_walls(
    capsys: Any, arena: Arena, sound: Path, unprotected: None
) -> None:
    assert grade(capsys, arena, sound, "--no-diagnostic")[0] == Exit.OK


def test_odd_names_are_shown_harmless(capsys: Any, arena: Arena, sound: Path) -> None:
    odd = sound.rename(sound.parent / "[b]\x1b[2J\u540d[link]")
    (odd / "a\x1b[31m").write_text("x")
    (odd / "[b]\x9b").symlink_to("a")
    for options in ([], ["--json"]):
        code, out, err = grade(capsys, arena, odd, "--no-diagnostic", *options)
        assert code == Exit.OK
        assert not {"\x1b", "\x9b"} & set(out + err)
    code, out, err = grade(capsys, arena, str(odd) + "\x1b]0;x\x07")
    assert code == Exit.INVALID
    assert not {"\x1b", "\x07"} & set(out + err)
