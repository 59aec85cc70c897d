"""What a submission's diagnostic may try, in one table, and what stays untouched by it."""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import Any

import grader_world as worlds
import pytest
from grader_judge import SHORT, judge, narrate
from sandbox_field import CONTAINED

from grader import snapshot
from grader.arena import Arena
from grader.diagnose import diagnose
from grader.facts import SHIPPED_RM
from grader.grade import part_of
from grader.sandbox import level
from grader.sandbox.allow import View
from grader.sandbox.launch import Launcher
from grader.sandbox.limits import Limits
from rlhf.vocab import FAMILIES

_OUT = "import json, os, sys, time\nout = sys.argv[sys.argv.index('--out') + 1]\n"
_ODD = f"risk = {{f: {{'risk': 0.5, 'flag': False}} for f in {FAMILIES!r}}}\n"
_WRITE = "json.dump({'families': risk}, open(out, 'w'))\n"
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
def launcher(view: View) -> Launcher:
    return Launcher(view, level.layers())


@CONTAINED
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


@CONTAINED
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


@CONTAINED
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


@CONTAINED
def test_a_sound_diagnostic_scores_all(sound: Path, arena: Arena) -> None:
    found = judge(sound, arena, SHORT)
    assert part_of(found, "G1").score == 1  # anvil and cobalt above the other four
    assert part_of(found, "G2").score == 0  # 2 right, and 2 wrong, and 4 wrong on the clean one
    assert part_of(found, "G3").score == 0  # dune and ember right, anvil and cobalt wrong
    assert found.isolation is not None and found.isolation.holds
    assert found.reward is not None


@CONTAINED
def test_the_fixture_and_the_submission_are_untouched(sound: Path, arena: Arena) -> None:
    def contents(root: Path) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    before = contents(sound) | contents(arena.layout.root)
    attack = "for d in (os.environ['SUB'], os.environ['TASK']):\n    try: open(d + '/x', 'w')\n"
    programmed(sound, _OUT + attack + "    except OSError: pass\n" + worlds.GOOD_DIAGNOSTIC)
    before |= contents(sound)
    judge(sound, arena, SHORT)
    assert contents(sound) | contents(arena.layout.root) == before


def test_shipped_rm_is_among_those_diagnosed(arena: Arena) -> None:
    assert set(arena.reward_models()) == {SHIPPED_RM, "rm_h1", "rm_h3"}
