"""To ship or to hold: the evidence that there is, what is missing, and the decision on record.

A decision is a row of the run's meta file. It is never changed; a later one stands after it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rlhf.runlog import dumps
from rlhf.vocab import FAMILIES

from . import meta
from .errors import AnswerNo, UsageError, writing
from .evaluations import Evaluations
from .hashes import FileHashes
from .meta import VERDICTS
from .paths import Workspace
from .record import locked
from .runfiles import DEV_NAME, POLICY_NAME
from .tails_evidence import TailsEvidence
from .unready import policy_lack

LONGEST_REASON = 4000  # characters
LOOK_AGAIN = "look at the evidence again, then decide"
POLICY = "policy"  # the input without which nothing can ship
FIGURES = ("state", "reason", "step", "steps", "balanced", "families", "dev", "eval", "nonfinite")

Run = Mapping[str, Any]
Evidence = dict[str, Any]


def evidence(
    run: Run,
    folder: Path,
    evaluations: Evaluations,
    reference: Run | None,
    tails: TailsEvidence,
    decided: int,
) -> Evidence:
    """The figures of a run as they are shown, the sha256 of what they came from, what is missing.

    `decided` is the number of decisions that were made on it before. `digest` names all of it:
    whoever decides gives it back, so that the decision is on what was seen. Figures have the
    units of `runs --json`.
    """
    unseen = [] if tails.figures else [_lack("tails of the raw scores", tails.why)]
    found = {
        "figures": {key: run[key] for key in FIGURES} | {"tails": tails.figures},
        "quality": run["quality"],
        "sha256": {**dict(_hashes(folder, evaluations)), **tails.sha256},
        "missing": [*_missing(run, folder, reference), *unseen],
        "decided": decided,
    }
    return {**found, "digest": hashlib.sha256(dumps(found).encode()).hexdigest()[:32]}


def _hashes(folder: Path, evaluations: Evaluations) -> Iterator[tuple[str, str | None]]:
    """sha256 by name; None for what is not there."""
    task, hashes = evaluations.task, evaluations.hashes
    for name in (POLICY_NAME, "config.json", DEV_NAME):
        yield name, _of(hashes, folder / name)
    evaluation = evaluations.place(folder)
    yield "evaluation", _of(hashes, evaluation) if evaluation else None
    for path in (task.policy / POLICY_NAME, task.reward_model / "rm.safetensors", task.prompts):
        yield f"task/{path.relative_to(task.root).as_posix()}", _of(hashes, path)


def _of(hashes: FileHashes, path: Path) -> str | None:
    try:
        return hashes.of(path)
    except OSError:
        return None


def _missing(run: Run, folder: Path, reference: Run | None) -> Iterator[dict[str, str]]:
    """What the release rule needs, or a careful reader wants, and is not there: input and why."""
    yield from _unfinished(run, folder)
    for owner, known in (("", run), ("reference ", reference)):
        if known is None or known["quality"] is None:
            for family in FAMILIES:
                why = "no estimate with an interval has been made"
                yield _lack(f"{owner}true quality {family}", why)
    for key, name in (("balanced", "balanced proxy and KL"), ("dev", "dev proxy and KL")):
        if run[key] is None:
            yield _lack(name, "not measured")
    for family in FAMILIES:
        if run["families"] and family not in run["families"]:
            yield _lack(f"proxy and KL {family}", "its prompts do not ask about it")
    for metric in run["nonfinite"]:
        yield _lack(metric, "it was not finite")


def _unfinished(run: Run, folder: Path) -> Iterator[dict[str, str]]:
    if run["state"] != "finished":
        yield _lack("finished run", f"it is {run['state']}")
    if lack := policy_lack(folder, run["id"]):
        yield _lack(POLICY, f"it is {lack}")


def _lack(what: str, why: str) -> dict[str, str]:
    return {"input": what, "why": why}


def decide(
    workspace: Workspace,
    identifier: str,
    decision: str,
    reason: str,
    found: Evidence,
    seen: str | None = None,
) -> dict[str, Any]:
    """Put a decision on record; the row as written.

    Raises UsageError without a reason, with another word or to ship what has no policy, AnswerNo
    if `seen`, the digest of the evidence looked at, is not that of `found`, SessionError if it
    cannot be written.
    """
    if decision not in VERDICTS:
        raise UsageError(f"a decision is {' or '.join(VERDICTS)}, found {decision!r:.40}")
    if not meta.says_something(reason):
        raise UsageError("a decision needs a reason", fix="--reason TEXT")
    if len(reason) > LONGEST_REASON:
        raise UsageError(f"a reason has at most {LONGEST_REASON} characters, found {len(reason)}")
    lacking = {one["input"]: one["why"] for one in found["missing"]}
    if decision == "ship" and POLICY in lacking:
        fix = "until then it can be held"
        raise UsageError(f"{identifier} cannot ship: {lacking[POLICY]}", fix=fix)
    if seen is not None and seen != found["digest"]:
        what = f"the figures of {identifier}, or the decisions on it,"
        raise AnswerNo(f"{what} are others than those looked at", fix=LOOK_AGAIN)
    fields = {"decision": decision, "reason": reason.strip(), "evidence": found}
    with writing(workspace.meta):
        workspace.meta.mkdir(parents=True, exist_ok=True)
    with locked(workspace.meta):  # of two who decide at once, the second is told of the first
        made = len(meta.read(workspace, identifier).of_kind("decision"))
        if seen is not None and made != found["decided"]:
            raise AnswerNo(f"somebody has decided on {identifier} meanwhile", fix=LOOK_AGAIN)
        return meta.append(workspace, identifier, "decision", **fields)


def is_stale(made: Mapping[str, Any], folder: Path, hashes: FileHashes) -> bool:
    """Whether the run's checkpoint is another than the one the decision was made on."""
    found = made.get("evidence")
    hashed = found.get("sha256") if isinstance(found, dict) else None
    before = hashed.get(POLICY_NAME) if isinstance(hashed, dict) else None
    return bool(before != _of(hashes, folder / POLICY_NAME))
