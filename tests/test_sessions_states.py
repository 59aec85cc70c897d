"""The state of a run is the first that its evidence fits."""

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from sessions import identity, states
from sessions.record import new_record
from sessions.states import Evidence, derive

NOW = 50_000.0  # on the monotonic clock
DEAD = {"host": identity.host(), "boot": identity.boot(), "pid": 2**22 + 7, "start": "1"}


def living(silent_s: float = 0.0, **more: Any) -> dict[str, Any]:
    """The record's process: this test's own."""
    return identity.own().as_dict() | {"monotonic": NOW - silent_s, **more}


def record(process: Any, **fields: Any) -> dict[str, Any]:
    return {**new_record("run", "r", [], process=process), **fields}


def rows(*times: float) -> list[dict[str, Any]]:
    return [{"step": 20 * (i + 1), "elapsed_s": t} for i, t in enumerate(times)]


STOP = {"by": "ann@box", "at": "", "ended": None}
FAR = {**DEAD, "host": "elsewhere"}
FINISHED = {"outcome": "finished", "reason": None}

CASES: dict[str, tuple[Evidence, str, str | None]] = {
    "in line": (Evidence(record(None), queued=True), "queued", None),
    "in no line": (Evidence(record(None)), "queued", "resume puts it back"),
    "taken out": (Evidence(record(None, cancelled=STOP), queued=True), "stopped", "ann@box"),
    "begun, no row": (Evidence(record(living())), "starting", None),
    "begun, a row": (Evidence(record(living(10)), rows=rows(3.0)), "running", None),
    "silent 59 s": (Evidence(record(living(62)), rows=rows(1.0, 3.0)), "running", None),
    "silent 61 s": (Evidence(record(living(64)), rows=rows(1.0, 3.0)), "stalled", "61 s"),
    "slow, ten intervals": (Evidence(record(living(250)), rows=rows(20, 40)), "stalled", "210 s"),
    "slow, nine intervals": (Evidence(record(living(220)), rows=rows(20, 40)), "running", None),
    "never a row in 61 s": (Evidence(record(living(61.0))), "stalled", "61 s"),
    "a job is never stalled": (Evidence(record(living(999), kind="grade")), "running", None),
    "receipt: finished": (Evidence(record(DEAD), FINISHED), "finished", None),
    "receipt while it still exits": (Evidence(record(living()), FINISHED), "finished", None),
    "receipt: failed": (
        Evidence(record(DEAD), {"outcome": "failed", "reason": "x"}),
        "failed",
        "x",
    ),
    "receipt: stopped": (
        Evidence(record(DEAD, stop=STOP), {"outcome": "stopped", "reason": "SIGTERM"}),
        "stopped",
        "stopped by ann@box",
    ),
    "receipt of another kind": (Evidence(record(DEAD), {"outcome": 7}), "unknown", "no outcome"),
    "gone": (Evidence(record(DEAD)), "lost", "without a receipt"),
    "gone, signal seen": (
        Evidence(record(DEAD, exit={"signal": 9, "code": None})),
        "lost",
        "SIGKILL",
    ),
    "gone, code seen": (Evidence(record(DEAD, exit={"signal": None, "code": 3})), "lost", "code 3"),
    "gone, stop asked but not done": (Evidence(record(DEAD, stop=STOP)), "lost", None),
    "gone, killed by the stop": (
        Evidence(record(DEAD, stop={**STOP, "ended": "killed"})),
        "stopped",
        "killed by ann@box",
    ),
    "gone with the last boot": (Evidence(record({**DEAD, "boot": "before"})), "lost", None),
    "another host's": (Evidence(record(FAR)), "unknown", "elsewhere"),
    "another host's, with receipt": (Evidence(record(FAR), FINISHED), "finished", None),
    "a reused pid": (
        Evidence(record({**DEAD, "pid": os.getpid(), "start": "1"})),
        "lost",
        None,
    ),
    "a process of nonsense": (Evidence(record({"pid": "x"})), "unknown", "no process"),
    "no record, weights": (Evidence(has_policy=True), "finished", None),
    "no record, fresh log": (Evidence(rows=rows(1.0), log_age_s=5.0), "running", None),
    "no record, old log": (Evidence(rows=rows(1.0), log_age_s=500.0), "unknown", None),
    "nothing": (Evidence(), "unknown", None),
}


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "time", SimpleNamespace(monotonic=lambda: NOW))


@pytest.mark.parametrize("case", CASES)
def test_first_match(case: str) -> None:
    evidence, state, reason = CASES[case]
    found = derive(evidence)
    assert found.state == state
    if reason is not None:
        assert found.reason is not None and reason in found.reason


def test_states_are_those_of_the_contract() -> None:
    words = "queued starting running stalled finished failed stopped lost unknown"
    assert [*states.LIVE, *states.OUTCOMES, "lost", "unknown"] == words.split()
    assert {state for _, state, _ in CASES.values()} == set(words.split())


@pytest.mark.parametrize("jump", [-1e6, 1e6])
def test_a_clock_that_jumps(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Evidence(record(living(10)), rows=rows(3.0), log_age_s=jump)
    silent = Evidence(record(living(90)), rows=rows(3.0), log_age_s=-jump)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    assert derive(running).state == "running"
    assert derive(silent).state == "stalled"


def test_a_resumed_run_is_not_stalled_by_the_hours_before_it() -> None:
    process = living(20, resumed_from=40, resumed_elapsed=9000.0)
    before = [{"step": 20, "elapsed_s": 8990.0}, {"step": 40, "elapsed_s": 9000.0}]
    assert derive(Evidence(record(process), rows=before)).state == "running"
    after = [*before, {"step": 60, "elapsed_s": 9010.0}]
    silence = states.silence(after, record(process))
    assert silence == pytest.approx(10.0)
    long_ago = {**process, "monotonic": NOW - 500}
    assert derive(Evidence(record(long_ago), rows=after)).state == "stalled"
