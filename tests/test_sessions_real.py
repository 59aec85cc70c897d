"""The real trainer under sessions: killed and resumed, replayed, validated, wrapped."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from toy_lab import Lab, eventually

from rlhf.analysis.validate import VALIDATION, validate
from rlhf.errors import RlhfError
from rlhf.runlog import canonical_sha256
from sessions import launch as launching
from sessions.errors import InputError
from sessions.plan import Request, make_plans
from sessions.replay import replay
from sessions.resume import resume
from sessions.runfiles import DEV_NAME, read_object
from sessions.wrapper_check import check_wrapper

pytestmark = pytest.mark.xdist_group("processes")
MINUTE = 120.0  # longest that a short training may take on a busy machine


@pytest.fixture
def real(lab: Lab, shipped_task: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The lab on the shipped task."""
    lab.task = shipped_task
    return lab


def start(lab: Lab, name: str, **settings: object) -> str:
    axes = {key: [value] for key, value in settings.items()}
    plans = make_plans(Request(axes, name=name), lab.task)
    return launching.launch(lab.workspace, lab.task, plans)[0]


SHORT = {"steps": 40, "save_every": 10, "log_every": 10, "seed": 3}


def test_killed_and_resumed_equals_undisturbed_and_its_replay(real: Lab) -> None:
    killed, whole = start(real, "killed", **SHORT), start(real, "whole", **SHORT)
    checkpoint = real.folder(killed) / "checkpoints" / "step-000010"
    eventually(checkpoint.exists, MINUTE)
    os.kill(real.process(killed).pid, signal.SIGKILL)
    real.until(killed, "lost")
    resume(real.workspace, real.folder(killed))
    for run in (killed, whole):
        real.until(run, "finished", seconds=MINUTE)
    for name in ("policy.safetensors", "log.jsonl"):
        one, other = (canonical_sha256(real.folder(run) / name) for run in (killed, whole))
        assert one == other, name
    again = replay(real.workspace, real.task, real.folder(whole))
    verdict = eventually(lambda: read_object(real.folder(again) / "replay.json", []), MINUTE)
    assert (verdict["same"], verdict["differs"]) == (True, [])
    for run in (killed, whole, again):
        path = real.folder(run) / VALIDATION
        report = eventually(lambda path=path: read_object(path, []), MINUTE)
        assert report["ok"] and report["problems"] == []
        assert report["kl"]["n"] == 512 and report["logged_kl"] is not None
        dev = real.folder(run) / DEV_NAME
        figures = eventually(lambda dev=dev: read_object(dev, []), MINUTE)
        assert figures["prompts"] == "/task/data/prompts_dev.jsonl"
        assert figures["n_prompts"] == 2000 and figures["kl_mean"] > 0


def test_a_wrapper_that_fails_at_step_3_fails_the_run(real: Lab, tmp_path: Path) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text(
        "calls = 0\ndef transform(records, response_tokens, rewards):\n"
        "    global calls\n    calls += 1\n"
        "    return rewards if calls < 3 else [float('nan')] * len(rewards)\n"
    )
    run = start(real, "bad wrapper", reward_wrapper=str(wrapper), **SHORT)
    reason = real.until(run, "failed", seconds=MINUTE).reason
    assert reason is not None and "step 3" in reason and "nan" in reason


@pytest.fixture
def finished(tmp_path: Path, shipped_task: Path) -> Path:
    """A copy of a shipped run, with a receipt that fits."""
    folder = tmp_path / "run"
    shutil.copytree(shipped_task / "runs" / "kl05-s800", folder)
    names = ("policy.safetensors", "config.json", "log.jsonl")
    artifacts = {name: canonical_sha256(folder / name) for name in names}
    (folder / "done.json").write_text(json.dumps({"outcome": "finished", "artifacts": artifacts}))
    return folder


def test_validation_of_a_sound_run(finished: Path) -> None:
    report = validate(finished)
    assert report["ok"] and report["warnings"] == []
    assert abs(report["kl"]["mean"] - report["logged_kl"]) < 0.3


def _truncate(folder: Path) -> None:
    path = folder / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:-4])


def _other_weights(folder: Path) -> None:
    path = folder / "policy.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def _not_finite(folder: Path) -> None:
    path = folder / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\x00\x00\xc0\x7f")


DAMAGE = {
    "truncated weights": (_truncate, "policy.safetensors"),
    "other weights": (_other_weights, "has changed"),
    "weights that are not finite": (_not_finite, "NaN"),
    "no weights": (lambda folder: (folder / "policy.safetensors").unlink(), "is missing"),
    "no receipt": (lambda folder: (folder / "done.json").unlink(), "done.json"),
    "a torn config": (lambda folder: (folder / "run_config.json").write_text("{"), "run_config"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_validation_names_damage(case: str, finished: Path) -> None:
    damage, words = DAMAGE[case]
    damage(finished)
    report = validate(finished)
    assert not report["ok"]
    assert any(words in problem for problem in report["problems"]), report["problems"]


def test_wrapper_check_says_what_the_wrapper_does(shipped_task: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text(
        "print('hello\\n{\\n')\ndef transform(records, response_tokens, rewards):\n"
        "    return [r - 1.5 * (f['family'] == 'dune') for f, r in zip(records, rewards)]\n"
    )
    found = check_wrapper(shipped_task, wrapper, n=20)
    assert found["deterministic"] is True and found["overall"]["n"] == 120
    dune, anvil = found["families"]["dune"], found["families"]["anvil"]
    assert dune["change_mean"] == pytest.approx(-1.5, abs=1e-5) and dune["changed_share"] == 1.0
    assert dune["pearson"] == pytest.approx(1.0)
    assert (anvil["change_mean"], anvil["changed_share"]) == (0.0, 0.0)


WRAPPERS = {
    "raises": "def transform(a, b, c): raise KeyError('gone')",
    "wrong length": "def transform(a, b, c): return c[1:]",
    "infinite": "def transform(a, b, c): return [float('inf')] * len(c)",
    "cannot be loaded": "import nowhere_at_all\ndef transform(a, b, c): return c",
    "syntax error": "def transform(",
    "ends the process": "import os\ndef transform(a, b, c): os._exit(0)",
}


@pytest.mark.parametrize("case", WRAPPERS)
def test_wrapper_check_refuses_what_cannot_be_used(
    case: str, shipped_task: Path, tmp_path: Path
) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text(WRAPPERS[case])
    with pytest.raises(InputError, match=r"w\.py") as caught:
        check_wrapper(shipped_task, wrapper, n=2)
    assert caught.value.exit_code == 3 and not issubclass(InputError, RlhfError)


WAYWARD = {
    "leaves a process behind": "if os.fork() == 0: time.sleep(600)",
    "closes what it may print to": "os.closerange(1, 3)",
    "prints what is no text": "os.write(1, b'\\xff'), os.write(2, b'\\xff\\n')",
    "prints when it ends": "atexit.register(print, '\\n{\\n')",
}


@pytest.mark.parametrize("case", WAYWARD)
def test_wrapper_check_waits_for_the_wrapper_and_nothing_else(
    case: str, shipped_task: Path, tmp_path: Path
) -> None:
    wrapper = tmp_path / "w.py"
    wrapper.write_text(
        f"import atexit, os, time\ndef transform(a, b, c):\n    {WAYWARD[case]}\n    return c\n"
    )
    assert check_wrapper(shipped_task, wrapper, n=2)["overall"]["n"] == 12
    running = subprocess.run(["ps", "-A", "-o", "command="], capture_output=True, text=True)
    assert str(wrapper) not in running.stdout


def test_a_pipe_in_the_place_of_a_wrapper_keeps_nobody_waiting(
    shipped_task: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "w.py")
    with pytest.raises(InputError, match="no regular file"):
        check_wrapper(shipped_task, tmp_path / "w.py", n=2)
