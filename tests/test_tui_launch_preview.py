"""A sweep near the limit in the form: counted before it is made, and nothing is done twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from operating import place_of
from toy_lab import Lab

import sessions.inputs
import sessions.plan
import tui.launch_form
from sessions.catalogue import Catalogue
from sessions.progress import Pace
from tui.launch_form import Draft
from tui.launch_preview import NAMED, Previewer, told

TENS = {
    "kl": ",".join(f"{n / 100}" for n in range(1, 11)),
    "steps": ",".join(str(n) for n in range(1, 11)),
    "lr": ",".join(f"{n}e-4" for n in range(1, 11)),
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[Any]]:
    """Count the calls of a module's function."""

    def count(module: Any, name: str) -> list[Any]:
        real, calls = getattr(module, name), []

        def call(*words: Any) -> Any:
            calls.append(words)
            return real(*words)

        monkeypatch.setattr(module, name, call)
        return calls

    return count


def preview_of(lab: Lab, draft: Draft, **folders: Path) -> Any:
    return Previewer(place_of(lab), folders).preview(draft)


def test_a_thousand_runs_are_counted_and_not_made(
    lab: Lab, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = counted(sessions.plan, "resolve")
    named = counted(sessions.plan, "_name")
    monkeypatch.delattr(sessions.plan.Sweep, "plans")
    found = preview_of(lab, Draft(typed=TENS))
    assert found.count == 1000 and len(found.names) == NAMED == len(named)
    assert len(resolved) == 1 + 30  # what all share, and each value once
    count, names = found.lines()
    assert count.startswith("1000 runs on") and names.endswith("0.01-s2-lr0.0002, ...")


def test_the_plans_are_the_sweep_and_each_file_is_read_once(lab: Lab, counted: Any) -> None:
    hashed = counted(sessions.inputs, "hash_file")
    plans = lab.plans(kl_coef=[0.1, 0.2], seed=list(range(50)))
    assert len(plans) == 100 and len({plan.name for plan in plans}) == 100
    assert len(hashed) == len({path for (path,) in hashed}) > 3


def test_what_stands_is_not_judged_again(counted: Any) -> None:
    resolved = counted(tui.launch_form, "resolve")
    draft = Draft(typed={"seeds": "100-899", "name": "x"})
    for letter in "abcdef":
        draft.typed["name"] += letter
        assert not draft.mistakes()
    assert len(resolved) <= 800


def test_a_time_without_the_start_of_a_run_says_so() -> None:
    assert told(4.2, Pace(0.1)) == "about 4 s + start-up"
    assert told(300.0, Pace(0.1, 3.0)) == "about 5 min"
    assert told(None, None) == "no run here tells how fast"


@pytest.mark.parametrize(
    ("option", "text"),
    [("seeds", ",".join(f"{n}000-{n}999" for n in range(1000))), ("kl", "1," * 200_000)],
)
def test_a_field_of_too_many_values_is_refused_before_they_are_made(
    option: str, text: str, counted: Any
) -> None:
    resolved = counted(tui.launch_form, "resolve")
    assert "more than 1000" in Draft(typed={option: text}).mistakes()[option]
    assert not resolved


def test_a_billion_runs_are_refused_by_their_number(lab: Lab, counted: Any) -> None:
    resolved = counted(sessions.plan, "resolve")
    many = ",".join(str(n) for n in range(2, 1002))
    found = preview_of(lab, Draft(typed={"steps": many, "batch": many, "seeds": "0-999"}))
    assert "1000000000 runs: at most" in found.wrong and not resolved


def test_a_clone_is_looked_up_in_the_list(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = lab.launch("base", steps=3)
    lab.until(run, "finished")

    def scan(self: Catalogue) -> None:
        raise AssertionError("the folders are scanned while somebody types")

    monkeypatch.setattr(Catalogue, "scan", scan)
    draft = Draft("elsewhere", {"init": "elsew", "kl": "0.3"})
    found = preview_of(lab, draft, elsewhere=lab.folder(run))
    assert found.wrong == "" or "policy.safetensors" in found.wrong, found.wrong


def test_a_policy_to_start_from_that_is_not_there_is_marked(lab: Lab) -> None:
    found = preview_of(lab, Draft(typed={"init": "0-2"}))
    assert found.field == "init" and "no run is called '0-2'" in found.wrong
