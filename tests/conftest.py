"""What every test shares: the shipped task and one thread."""

import os
import signal
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("TMUX", None)  # what tests copy is not for the person who runs them

import hypothesis
import pytest
import torch
from grader_world import arena as arena
from grader_world import sound as sound
from leftovers import watch
from log_reader import log as log
from sandbox_field import contained as contained
from sandbox_field import field as field
from sandbox_field import view as view
from synthetic import console as console
from toy_lab import lab as lab
from toy_scores import scored as scored

from fixture.export import export
from fixture.layout import SHIPPED
from rlhf.model import Policy, default_config, load_policy
from rlhf.reward_model import RewardModel, load_rm

ROOT = Path(__file__).resolve().parents[1]
TASK = ROOT / "fixture" / "task"

watch()
torch.set_num_threads(1)
hypothesis.settings.register_profile(  # a busy machine is no fault
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")

# started in the background of a script, the suite would hand its children signals that are ignored
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def shipped_task(monkeypatch: pytest.MonkeyPatch) -> Path:
    """/task means the shipped one."""
    monkeypatch.setenv("TASK", str(TASK))
    return TASK


@pytest.fixture(scope="session")
def reference() -> Policy:
    return load_policy(str(TASK / "policy"))[0]


@pytest.fixture(scope="session")
def rm() -> RewardModel:
    return load_rm(str(TASK / "reward_model"))[0]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped task, exported."""
    folder = tmp_path_factory.mktemp("out") / "task"
    export(SHIPPED, folder)
    return folder


@pytest.fixture
def small_policy() -> Policy:
    """A policy of few parameters, in float32, far from uniform."""
    torch.manual_seed(3)
    return Policy({**default_config(), "d_model": 8, "n_layers": 1, "n_heads": 2, "d_ff": 8}).eval()
