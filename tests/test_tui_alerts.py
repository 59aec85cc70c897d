"""Alert rules and notes: what fires, once, and what is kept."""

from pathlib import Path
from typing import Any

import pytest

from sessions.progress import Progress
from tui.alerts import Alerts
from tui.filter import FilterError, compile_filter
from tui.preferences import Preferences, Wanted
from tui.state import State
from tui.watching import MOST_NOTES, Watch, in_short


def run(name: str, state: str = "running", kl: float | None = 1.0) -> dict[str, Any]:
    return {"id": name, "name": name, "state": state, "reason": None, "train": {"kl": kl}}


def test_a_rule_fires_once_until_it_stops_holding() -> None:
    alerts = Alerts()
    alerts.add("train.kl>8")
    assert alerts.check({"a": run("a", kl=9.0)}) == ["alert train.kl>8: a"]
    assert alerts.check({"a": run("a", kl=10.0)}) == []
    assert len(alerts.holding) == 1
    assert alerts.check({"a": run("a", kl=1.0)}) == [] and not alerts.holding
    assert alerts.check({"a": run("a", kl=9.0)}) == ["alert train.kl>8: a"]


@pytest.mark.parametrize("rule", ["", "dune.kl>", "nonsense>3", "(", 'name~"(a+)+$"', "a~["])
def test_a_wrong_rule_is_refused_and_changes_nothing(rule: str) -> None:
    alerts = Alerts()
    alerts.add("train.kl>8")
    with pytest.raises(FilterError):
        alerts.replace("train.kl>8", rule)
    assert alerts.rules == ["train.kl>8"]


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "((a|ab))*c", "(a?){30}", "((a)*)*", "(Ab|ab)+$"]
)
def test_a_pattern_that_may_never_end_is_refused(pattern: str) -> None:
    with pytest.raises(FilterError, match="may never end"):
        compile_filter(f'name~"{pattern}"')


@pytest.mark.parametrize("pattern", ["^kl0", "a+b+", "(a|b)c", "(ab)+", "(kl|x)+0", "(kl|KL)0.1?"])
def test_a_flat_pattern_is_taken(pattern: str) -> None:
    compile_filter(f'name~"{pattern}"')


@pytest.mark.parametrize("end", ["finished", "failed", "stalled", "lost", "stopped"])
def test_an_end_is_noted_once_and_never_at_the_first_listing(end: str) -> None:
    watch, live, over = Watch(), {"a": run("a")}, {"a": run("a", end)}
    watch.compare(None, over)
    assert not watch.notes
    watch.compare(live, over)
    watch.compare(over, over)
    assert [note.text for note in watch.notes] == [f"a {end}"]
    assert watch.tell() == f"a {end}" and watch.tell() == ""


def test_notes_are_bounded_and_safe_to_show() -> None:
    watch = Watch()
    watch.compare({"a": run("\x1b[2Jx")}, {"a": run("\x1b[2Jx", "failed")})
    assert watch.notes[0].text == "x failed"
    watch.note([str(n) for n in range(1000)])
    assert len(watch.notes) == MOST_NOTES


def test_rules_are_kept_and_damage_counts_as_nothing(tmp_path: Path) -> None:
    view, state = tmp_path / "view.json", State()
    Preferences(view).save(Wanted(["state"], alerts=["train.kl>8", "nonsense>1"], bell=True))
    Preferences(view).load(state)
    assert state.watch.bell
    assert state.watch.alerts.rules == ["train.kl>8"]
    for damage in ('{"alerts": 3}', '{"alerts": [1, null, {}]}', "{", "[]"):
        view.write_text(damage)
        Preferences(view).load(State())


def test_what_was_wanted_last_is_kept_in_whatever_order_it_is_saved(tmp_path: Path) -> None:
    view, state = tmp_path / "view.json", State()
    kept = Preferences(view)
    state.watch.alerts.add("train.kl>8")
    with_rule = kept.of(state)
    state.watch.alerts.remove("train.kl>8")
    state.watch.bell = True
    without = kept.of(state)
    assert kept.save(without) == kept.save(with_rule) == ""
    fresh = State()
    Preferences(view).load(fresh)
    assert fresh.watch.bell and not fresh.watch.alerts.rules


def test_the_bar_says_first_when_the_line_stands() -> None:
    watch = Watch(paused=True)
    jobs = [Progress("a", "run", "a", "running", None, 41, 100, 0.5, 360.0)]
    watch.jobs = [*jobs, *(Progress(n, "run", n, "queued", None) for n in "bcd")]
    assert in_short(watch) == ["paused", "1 run 41%", "3 wait", "6m left"]


def test_a_settled_run_is_judged_once_and_again_by_every_new_rule() -> None:
    alerts, judged = Alerts(), []
    settled = run("a", kl=9.0)
    alerts.add("train.kl>8")
    alerts._tests["train.kl>8"] = lambda one: judged.append(one) or True  # type: ignore[func-returns-value]
    runs = {"a": settled}
    assert alerts.check(runs) == ["alert train.kl>8: a"]
    assert alerts.check(runs) == [] and alerts.holding and len(judged) == 1
    alerts.add("name~a")
    assert alerts.check(runs) == ["alert name~a: a"] and len(judged) == 2
    assert alerts.check({"a": run("a", kl=9.0)}) == [] and len(judged) == 3
    assert alerts.check({}) == [] and not alerts.holding
