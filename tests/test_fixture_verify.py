"""Truth by hand, the bands around known figures, and the fixture's commands."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fixture.__main__ import main as fixture_command
from fixture.truth import measure
from fixture.verify import gain_inside, kl_inside
from fixture.world import World
from fixture.worldfile import parse_world, read_world
from rlhf.model import Policy


def test_truth_by_hand() -> None:
    """A uniform policy hits a target once in 24, whatever the tables are."""
    world = World(parse_world(read_world("standard")))
    policy = Policy({**Policy.__init__.__globals__["default_config"](), "d_model": 8, "n_heads": 2})
    for parameter in policy.parameters():
        parameter.data.zero_()
    truth = measure(world, policy, world.prompts()["truth"])
    assert truth.by_prompt.shape == (6, 100)
    se = (1 / 24 * 23 / 24 / (600 * 16 * 8)) ** 0.5
    assert abs(truth.mean - 1 / 24) < 5 * se
    gains = truth.gains(truth)
    assert all((gain.mean, gain.se) == (0, 0) for gain in gains.values())


@pytest.mark.parametrize(
    ("ours", "expected", "inside"),
    [
        (0.21, 0.14, True),
        (0.23, 0.14, False),
        (0.51, 0.39, True),
        (0.58, 0.39, False),
        (-0.01, 0.05, False),
        (0.02, -0.02, True),
        (-0.31, -0.21, False),
    ],
)
def test_gain_bands(ours: float, expected: float, inside: bool) -> None:
    assert gain_inside(ours, expected) is inside


def test_kl_bands() -> None:
    assert kl_inside(0.09, 0.12) and kl_inside(1.4, 1.8) and not kl_inside(1.3, 1.8)
    assert kl_inside(0.1, 0.0) and not kl_inside(0.11, 0.0)


def test_verify_command_reports_the_shipped_world() -> None:
    result = CliRunner().invoke(fixture_command, ["verify", "--json"])
    document = json.loads(result.stdout)
    outside = {(cell["row"], cell["column"]) for cell in document["cells"] if not cell["inside"]}
    assert result.exit_code == (1 if outside else 0)
    assert outside <= {("kl002-s1500", "ember")}  # no cell of ember has its planted token as target
    assert document["releases"]["fourfam-s800"]["ships"]
    for name in ("kl002-s1500", "default-s800", "pilotmix-s800"):
        assert not document["releases"][name]["ships"]


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["build", "--world", "standart", "--out", "x"], 2, "'standard'"),
        (["verify", "--from", "/nowhere"], 4, "/nowhere"),
        (["export", "--from", "/nowhere", "x"], 4, "/nowhere"),
    ],
)
def test_command_errors_are_one_line(
    arguments: list[str], code: int, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(fixture_command, arguments)
    assert result.exit_code == code and result.stdout == ""
    assert named in result.stderr and result.stderr.strip().count("\n") == 0
    assert list(tmp_path.iterdir()) == []
