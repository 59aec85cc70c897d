"""Settings are checked before anything is written, and a mistake is named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rlhf.config import DEFAULTS, parse_override, resolve, task_path
from rlhf.errors import ConfigError


def test_defaults_are_the_contract() -> None:
    assert DEFAULTS["policy_init"] is None and DEFAULTS["family_weights"] is None
    assert {
        k: DEFAULTS[k] for k in ("kl_coef", "steps", "batch_prompts", "samples_per_prompt")
    } == {
        "kl_coef": 0.1,
        "steps": 800,
        "batch_prompts": 16,
        "samples_per_prompt": 8,
    }
    assert (DEFAULTS["lr"], DEFAULTS["log_every"], DEFAULTS["max_grad_norm"]) == (3e-4, 20, 1.0)
    assert json.loads(json.dumps(DEFAULTS)) == DEFAULTS


def test_resolve_is_idempotent_and_takes_any_subset() -> None:
    once = resolve({"kl_coef": 0.5, "family_weights": {"dune": 1, "ember": 0}})
    assert resolve(once) == once
    assert once.keys() == DEFAULTS.keys()
    assert resolve(dict(DEFAULTS)) == resolve({})
    assert resolve({"steps": None, "lr": None}) == resolve({})
    assert resolve({"steps": np.int64(3), "kl_coef": np.float32(0.5)})["steps"] == 3


@pytest.mark.parametrize(
    ("cfg", "named"),
    [
        pytest.param({"kl_coeff": 0.1}, "'kl_coef'", id="unknown key"),
        pytest.param({"Steps": 1}, "'steps'", id="unknown key in capitals"),
        pytest.param({"steps": "800"}, "steps must be an integer", id="wrong type"),
        pytest.param({"steps": 800.0}, "steps must be an integer", id="a float for an integer"),
        pytest.param({"steps": True}, "steps", id="a bool for a number"),
        pytest.param({"kl_coef": -0.1}, "kl_coef must be at least 0", id="negative number"),
        pytest.param({"seed": -1}, "seed must be at least 0", id="negative seed"),
        pytest.param({"seed": 2**63}, "seed must be below", id="seed too large"),
        pytest.param({"kl_coef": math.nan}, "kl_coef must be finite", id="nan"),
        pytest.param({"kl_coef": 10**400}, "kl_coef must be finite", id="a huge integer"),
        pytest.param({"prompt_file": "a\0b"}, "prompt_file must be a path", id="a NUL in a path"),
        pytest.param({"lr": math.inf}, "lr must be finite", id="infinity"),
        pytest.param({"lr": 0}, "lr must be greater than 0", id="no learning rate"),
        pytest.param({"temperature": 0}, "temperature must be greater", id="temperature of 0"),
        pytest.param({"samples_per_prompt": 1}, "at least 2", id="a group of one"),
        pytest.param({"batch_prompts": 0}, "at least 1", id="zero rows"),
        pytest.param({"log_every": 0}, "log_every", id="log never"),
        pytest.param({"policy_ref": 3}, "policy_ref must be a path", id="path a number"),
        pytest.param({"policy_ref": ""}, "policy_ref must be a path", id="path empty"),
        pytest.param({"family_weights": {"dunes": 1}}, "'dune'", id="unknown family"),
        pytest.param({"family_weights": {"dune": -1}}, "family_weights.dune", id="negative weight"),
        pytest.param({"family_weights": {"dune": 0}}, "above 0", id="no weight at all"),
        pytest.param({"family_weights": []}, "family_weights", id="weights a list"),
    ],
)
def test_a_bad_setting_is_named(cfg: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        resolve(cfg)


def test_settings_that_are_no_object() -> None:
    with pytest.raises(ConfigError, match="JSON object"):
        resolve([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kl_coef=0.2", ("kl_coef", 0.2)),
        ('family_weights={"dune": 1}', ("family_weights", {"dune": 1})),
        ("reward_wrapper=w.py", ("reward_wrapper", "w.py")),
        ("reward_wrapper=a=b.py", ("reward_wrapper", "a=b.py")),
        ("policy_init=null", ("policy_init", None)),
        ("kl_coef=" + "[" * 9999, ("kl_coef", "[" * 9999)),
    ],
)
def test_override(text: str, expected: tuple[str, object]) -> None:
    assert parse_override(text) == expected


def test_override_without_a_value() -> None:
    with pytest.raises(ConfigError, match="key=value"):
        parse_override("kl_coef")


@pytest.mark.parametrize(
    ("task", "path", "moved"),
    [
        ("/elsewhere", "/task", "/elsewhere"),
        ("/elsewhere", "/task/policy", "/elsewhere/policy"),
        ("/elsewhere/", "/task/policy", "/elsewhere/policy"),
        ("/elsewhere", "/tasks/policy", "/tasks/policy"),
        ("/elsewhere", "relative/policy", "relative/policy"),
        ("/task/deep", "/task/policy", "/task/deep/policy"),
        ("/task/deep", "/task/deep/policy", "/task/deep/policy"),
        ("/task", "/task/policy", "/task/policy"),
    ],
)
def test_task_paths(monkeypatch: pytest.MonkeyPatch, task: str, path: str, moved: str) -> None:
    monkeypatch.setenv("TASK", task)
    assert task_path(path) == moved
    assert task_path(moved) == moved


def test_no_torch_for_validating(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, rlhf.vocab, rlhf.config, rlhf.runlog;"
        "assert not {'torch', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
