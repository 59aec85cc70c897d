"""Decisions: what is recorded, what is missing, what stands, and what makes it out of date."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import toy_scores
from synthetic import Console, write_run

from sessions import meta
from sessions.decide import decide
from sessions.errors import AnswerNo, SessionError, UsageError
from sessions.paths import Workspace

FOUND = {"figures": {}, "sha256": {}, "missing": [], "digest": "d"}


def one_run(console: Console, run: str) -> dict[str, object]:
    """A run's facts by `show --json`."""
    return dict(json.loads(console.run("show", run, "--json").stdout))


@pytest.fixture(name="console")
def _console(tmp_path: Path) -> Console:
    return Console(tmp_path)


def test_a_hold_with_a_reason_is_recorded_with_evidence_and_shown(console: Console) -> None:
    done = console.run("decide", "kl002", "hold", "--reason", "dune collapses", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["decisions"][-1]
    assert (made["decision"], made["reason"]) == ("hold", "dune collapses")
    assert "@" in made["by"]
    assert made["at"]
    hashes = made["evidence"]["sha256"]
    assert len(hashes["policy.safetensors"]) == 64
    assert len(hashes["task/reward_model/rm.safetensors"]) == 64
    assert hashes["evaluation"] is None
    assert made["evidence"]["figures"]["dev"] == {"proxy": 0.99, "kl": 8.0}
    run = one_run(console, "kl002-s1500")
    assert (run["verdict"], run["verdict_stale"]) == ("hold", False)
    listed = json.loads(console.run("runs", "--json", "--evaluate", "0").stdout)["runs"]
    assert [one["verdict"] for one in listed if one["id"] == "kl002-s1500"] == ["hold"]
    assert "dune collapses" in console.run("show", "kl002").stdout
    found = console.run("runs", "--filter", "verdict=hold", "--evaluate", "0").stdout
    assert "kl002-s1500" in found
    assert "kl05-s800" not in found


def test_missing_inputs_of_the_release_rule_are_listed_by_name(console: Console) -> None:
    document = json.loads(console.run("decide", "kl05", "--json").stdout)
    missing = {one["input"] for one in document["evidence"]["missing"]}
    assert {"true quality dune", "reference true quality dune"} <= missing
    assert "balanced proxy and KL" in missing
    assert document["decisions"] == []


def evidence(console: Console, run: str) -> dict[str, Any]:
    return dict(json.loads(console.run("decide", run, "--json").stdout)["evidence"])


def test_tails_that_were_looked_at_are_evidence_and_the_others_are_missing(
    console: Console,
) -> None:
    toy_scores.install(console.place / "fake")
    console.environment["SCORES_CALLS"] = str(console.place / "score-calls")
    before = evidence(console, "kl002-s1500")
    assert before["figures"]["tails"] is None and "tails" not in before["sha256"]
    assert "tails of the raw scores" in [one["input"] for one in before["missing"]]
    assert not (console.place / "score-calls").exists()  # deciding samples nothing
    assert console.run("tails", "kl002-s1500").returncode == 0
    after = evidence(console, "kl002-s1500")
    tails = after["figures"]["tails"]
    assert {"dune", "ember"} <= set(tails["shifted"])
    assert tails["families"]["dune"]["above_p99_5"]["value"] == 1.0
    assert tails["families"]["dune"]["median_shift"]["low"] > 5
    assert tails["families"]["anvil"]["n"] == 2000
    assert "tails of the raw scores" not in [one["input"] for one in after["missing"]]
    assert {len(after["sha256"][key]) for key in ("tails", "scores, run")} == {64}
    assert evidence(console, "kl002-s1500") == after
    assert "tails" not in evidence(console, "kl05-s800")["sha256"]
    seen = ("--reason", "x", "--seen")
    assert console.run("decide", "kl002", "hold", *seen, before["digest"]).returncode == 1
    assert console.run("decide", "kl002", "hold", *seen, after["digest"]).returncode == 0
    again = console.run("decide", "kl002", "ship", *seen, after["digest"])
    assert again.returncode == 1 and "or the decisions on it" in again.stderr
    text = console.run("decide", "kl002").stdout
    assert ">ref p99.5" in text and "median shifted (95 % each): " in text


def test_a_decision_made_before_tails_were_evidence_stays_readable(console: Console) -> None:
    policy = console.task / "runs" / "kl05-s800" / "policy.safetensors"
    digest = hashlib.sha256(policy.read_bytes()).hexdigest()
    figures = {"figures": {"dev": None}, "quality": None, "missing": [], "digest": "d"}
    found = {**figures, "sha256": {"policy.safetensors": digest}}
    decide(Workspace(console.workspace), "kl05-s800", "ship", "of old", found)
    run = one_run(console, "kl05-s800")
    assert (run["verdict"], run["verdict_stale"]) == ("ship", False)
    assert "of old" in console.run("decide", "kl05").stdout
    assert "of old" in console.run("show", "kl05").stdout


def test_a_later_decision_stands_after_it_and_nothing_is_overwritten(console: Console) -> None:
    for verdict in ("ship", "hold"):
        assert console.run("decide", "kl05", verdict, "--reason", verdict).returncode == 0
    shown = json.loads(console.run("show", "kl05", "--json").stdout)
    assert [made["decision"] for made in shown["decisions"]] == ["ship", "hold"]
    assert shown["verdict"] == "hold"


def test_a_decision_on_a_run_whose_policy_changed_is_out_of_date(console: Console) -> None:
    console.run("decide", "kl05", "ship", "--reason", "fine")
    policy = console.task / "runs" / "kl05-s800" / "policy.safetensors"
    policy.write_bytes(b"others weights")
    assert one_run(console, "kl05-s800")["verdict_stale"] is True
    assert "OUT OF DATE" in console.run("show", "kl05").stdout


def test_what_has_no_policy_is_held_but_not_shipped(console: Console) -> None:
    write_run(console.workspace / "runs" / "early", finished=False)
    refused = console.run("decide", "early", "ship", "--reason", "now")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "early cannot ship: it is running and has no policy yet (until" in refused.stderr
    done = console.run("decide", "early", "hold", "--reason", "now", "--json")
    document = json.loads(done.stdout)
    missing = [one["input"] for one in document["evidence"]["missing"]]
    assert missing[:2] == ["finished run", "policy"]
    assert [made["decision"] for made in document["decisions"]] == ["hold"]


def test_ship_on_a_policy_whose_run_did_not_finish_is_allowed_and_said(tmp_path: Path) -> None:
    unfinished = {**FOUND, "missing": [{"input": "finished run", "why": "it is failed"}]}
    made = decide(Workspace(tmp_path), "a", "ship", "now", unfinished)
    assert made["evidence"] == unfinished


def test_read_only_refuses_to_decide_but_shows_the_evidence(console: Console) -> None:
    refused = console.run("--read-only", "decide", "kl05", "ship", "--reason", "x")
    assert refused.returncode == 2
    assert not (console.workspace / "meta").exists()
    assert console.run("--read-only", "decide", "kl05").returncode == 0


NOTHING = {"empty": "", "blank": "   ", "of no width": "\u200b \ufeff", "controls": "\x1b\x07"}


@pytest.mark.parametrize("reason", [*NOTHING.values(), "x" * 4001], ids=[*NOTHING, "endless"])
def test_a_reason_is_required(tmp_path: Path, reason: str) -> None:
    with pytest.raises(UsageError):
        decide(Workspace(tmp_path), "a", "ship", reason, FOUND)


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_a_note_and_a_tag_say_something(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        meta.note(Workspace(tmp_path), "a", text)
    with pytest.raises(UsageError):
        meta.tag(Workspace(tmp_path), "a", [text])


def test_figures_other_than_those_looked_at_are_not_decided_on(tmp_path: Path) -> None:
    with pytest.raises(AnswerNo):
        decide(Workspace(tmp_path), "a", "ship", "why", FOUND, seen="another")
    assert meta.read(Workspace(tmp_path), "a").rows == []


def test_two_dashboards_deciding_at_once_are_both_kept(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    threads = [
        threading.Thread(target=decide, args=(workspace, "a", word, f"{word} {n}", FOUND))
        for n in range(20)
        for word in ("ship", "hold")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(meta.read(workspace, "a").of_kind("decision")) == 40


def test_a_full_disk_is_said_and_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "meta").write_text("a file where the folder belongs")
    with pytest.raises(SessionError, match="cannot write"):
        decide(Workspace(tmp_path), "a", "ship", "why", FOUND)


def test_killed_in_the_middle_of_a_row_the_decision_before_stands(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    decide(workspace, "a", "hold", "first", FOUND)
    with open(meta.path_of(workspace, "a"), "a") as file:
        file.write('{"kind": "decision", "decision": "shi')
    made = meta.read(workspace, "a").decision
    assert made is not None
    assert made["decision"] == "hold"
    decide(workspace, "a", "ship", "second", FOUND)
    assert len(meta.read(workspace, "a").of_kind("decision")) == 2


def test_a_reason_alone_is_refused(console: Console) -> None:
    done = console.run("decide", "kl05", "--reason", "too little gain")
    assert done.returncode == 2 and "a reason without a decision" in done.stderr
