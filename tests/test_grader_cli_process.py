"""The grader as a process: signals, its children, and rlhf-tui that passes it on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from sandbox_field import CONTAINED
from toy_lab import eventually

from grader.arena import Arena
from grader.errors import Exit
from grader.part import PARTS


@CONTAINED
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
    eventually(lambda: len(_below(process.pid)) >= 3)  # reaper, program, its child
    children = _below(process.pid)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert json.loads(out)["error"]["kind"] == "interrupted"
    eventually(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])


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
        [sys.executable, "-c", console, str(grader), "grade", ".", "--json"],
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


@CONTAINED
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


def test_a_bare_name_is_a_submission_of_the_workspace_where_none_is_here(tmp_path: Path) -> None:
    program = "import sys\nfrom tui.cli import main\nsys.executable = '/bin/echo'\nmain()\n"
    inside = tmp_path / "w" / "submissions"
    (inside / "mine").mkdir(parents=True)
    (tmp_path / "here").mkdir()

    def graded(*words: str) -> subprocess.CompletedProcess[str]:
        start = [sys.executable, "-c", program, "--workspace", "w", "grade", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(start, env=environment, cwd=tmp_path, capture_output=True, text=True)

    named = graded("mine", "here", "../x", "--only", "mine").stdout.split()
    assert named[-5:] == [str(inside / "mine"), str(tmp_path / "here"), "../x", "--only", "mine"]
    assert graded("nowhere", "mine").stdout.split()[-2:] == ["nowhere", str(inside / "mine")]
    missing = graded("--job", "nowhere")
    assert (missing.returncode, missing.stderr.count("\n")) == (Exit.USAGE, 1)
    assert f"nowhere is not a folder, nor is {inside / 'nowhere'}" in missing.stderr


def test_a_bare_name_of_nothing_is_an_invalid_submission(tmp_path: Path) -> None:
    start = [sys.executable, "-m", "tui.cli", "--workspace", str(tmp_path / "w"), "grade"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*start, "nowhere", "--json"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == Exit.INVALID, done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "submission"


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


@pytest.mark.parametrize("module", ["grader", "tui.cli"])
def test_help_says_what_each_part_asks_without_torch(module: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('help needs no torch')")
    helped = subprocess.run(
        [sys.executable, "-m", module, "grade", "--help"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "COLUMNS": "80"},
        capture_output=True,
        text=True,
    )
    assert helped.returncode == 0, helped.stderr
    for part, asks in PARTS.items():
        assert f"\n    {part:4} {asks}\n" in helped.stdout
