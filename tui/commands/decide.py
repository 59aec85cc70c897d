"""`rlhf-tui decide`: the evidence on a run, and the decision to ship or to hold it."""

from typing import Any

import click

from ..acting import Once, acting, emit, find, json_option
from ..exits import CommandError, Exit
from ..place import Place


@click.command(short_help="Record whether a run ships, and why.")
@click.argument("run")
@click.argument("decision", required=False, type=click.Choice(["ship", "hold"]))
@click.option("--reason", cls=Once, metavar="TEXT", help="Why (required with a decision).")
@click.option("--seen", metavar="DIGEST", help="Refuse unless the evidence is still this.")
@json_option
@click.pass_obj
def decide(
    place: Place,
    run: str,
    decision: str | None,
    reason: str | None,
    seen: str | None,
    as_json: bool,
) -> None:
    """Put ship or hold on record for RUN, with the figures it rests on and their hashes.

    Without a decision: the evidence that there is, what is missing, the decisions so far.
    """
    if reason and decision is None:
        fix = f"rlhf-tui decide {run} ship, or hold, --reason ..."
        raise CommandError(Exit.USAGE, "a reason without a decision", fix=fix)
    document = _document(place, run, decision, reason or "", seen)
    emit(as_json, document, _lines(document))


def _document(
    place: Place, name: str, decision: str | None, reason: str, seen: str | None
) -> dict[str, Any]:
    from sessions import decide as decisions
    from sessions import meta
    from sessions.tails import Tails
    from sessions.tails_evidence import tails_evidence
    from sessions.task import REFERENCE

    with acting(place, changes=decision is not None) as workspace:
        catalogue = place.catalogue()
        found = find(place, name)
        runs = {run["id"]: run for run in catalogue.scan().runs}
        if found.id not in runs:
            raise CommandError(Exit.USAGE, f"{found.id} is no run: only runs are decided on")
        run, sources = runs[found.id], catalogue.evaluations
        kept = Tails(catalogue.task, workspace, keep=not place.read_only)
        tails = tails_evidence(kept, found.folder)
        history = meta.read(workspace, found.id).of_kind("decision")
        evidence = decisions.evidence(
            run, found.folder, sources, runs.get(REFERENCE), tails, len(history)
        )
        stale = run["verdict_stale"]
        if decision is not None:
            made = decisions.decide(workspace, found.id, decision, reason, evidence, seen)
            history, stale = [*history, made], False
        facts = {"run": found.id, "name": run["name"], "verdict": decision or run["verdict"]}
        return {**facts, "verdict_stale": stale, "evidence": evidence, "decisions": history}


def _lines(document: dict[str, Any]) -> list[str]:
    from ..deciding import evidence_lines
    from ..render import clean

    evidence, history = document["evidence"], document["decisions"]
    head = f"{clean(document['name'])} ({document['run']})"
    return [head, *evidence_lines(evidence, history, document["verdict_stale"])]
