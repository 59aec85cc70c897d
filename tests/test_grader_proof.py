"""What proves the isolation before a grade: the canary, and what may do without it."""

import dataclasses

import pytest
from sandbox_field import LINUX_ONLY, NONE, Field

from grader.errors import IsolationError
from grader.sandbox import level as levels
from grader.sandbox.allow import View
from grader.sandbox.launch import Launcher
from grader.sandbox.proof import prove

pytestmark = LINUX_ONLY


def test_limits_only_refuses(field: Field, view: View) -> None:
    launcher = Launcher(view, NONE)
    with pytest.raises(IsolationError, match="nothing here can keep"):
        prove(launcher, field.work / "canary", field.work / "task", False, [])


def test_limits_only_runs_when_asked_and_says_what_got_out(field: Field, view: View) -> None:
    secrets = [field.targets["secret"]]
    launcher = Launcher(view, NONE)
    found = prove(launcher, field.work / "canary", field.work / "task", True, secrets)
    assert found.level == "limits-only"
    assert not found.canary["read"]
    assert not found.canary["tcp"]


def test_canary_that_gets_out_stops_the_grade(field: Field, view: View) -> None:
    """A level that claims Landlock while its rules are not laid on."""
    claimed = dataclasses.replace(levels.layers(), bwrap=(), abi=1, seccomp=True)
    launcher = Launcher(view, claimed)
    launcher._confined = lambda at, job: [  # type: ignore[method-assign]
        f"{at['view']}/bin/python3",
        *(part.format(**at) for part in job.argv),
    ]
    with pytest.raises(IsolationError, match="the canary got out"):
        prove(launcher, field.work / "canary", field.work / "task", False, [])
