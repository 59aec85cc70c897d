"""What `samples` and `probe` print."""

import sys
from dataclasses import replace

from .acting import acting, emit, find, narrate, need_policy
from .exits import CommandError, Exit
from .families import only
from .place import Place
from .render import clean
from .samples_view import family_lines, probe_lines


def report(
    place: Place,
    run: str,
    family: str | None,
    counts: tuple[int, int, int, int],
    positions: bool,
    scorer: str,
    as_json: bool,
) -> None:
    """Print the samples of a run. Raises CommandError."""
    from sessions.reward_model import notes, scoring
    from sessions.samples import Counts, Samples

    with acting(place, changes=False) as workspace:
        found = find(place, run)
        need_policy([found])
        task = place.checked_task()
        rm = scoring(task, scorer, [found.folder])
        task = replace(task, scorer=rm.folder)
        made = Samples(task, workspace, keep=not place.read_only)
        lacking = made.lacking(found.folder)
        if lacking and place.read_only:
            message = f"{found.id}: no scores yet, and --read-only measures nothing"
            raise CommandError(Exit.USAGE, message)
        if lacking:
            narrate(f"sampling {found.id} and the reference where they have no scores yet")
        document = made.document(found.folder, Counts(*counts), lambda done, total: None)
        noted = notes(task, [found])
    families = only(document["families"], family)
    lines = [
        line.plain for name, one in families.items() for line in family_lines(name, one, positions)
    ]
    about = {"rule": document.get("rule"), **rm.document(), "notes": noted}
    emit(as_json, {"run": found.id, "families": families, **about}, lines)
    if not as_json:
        sys.stdout.flush()
        narrate(f"score: raw, by {rm.said}; KL: per-sequence k1, nats; [x]: see --help")
        for note in noted:
            narrate(note)


def probe_report(place: Place, prompt: str, response: str, run: str | None, as_json: bool) -> None:
    """Print what a reward model, the run's if one is named, says to a response.

    Raises CommandError.
    """
    from sessions.probe import Probe, wrong_in

    if wrong := wrong_in(prompt, response):
        raise CommandError(Exit.USAGE, wrong)
    with acting(place, changes=False):
        folder = None if run is None else find(place, run).folder
        child = Probe(place.checked_task(), folder)
        narrate(f"loading {child.reward_model.said}")
        try:
            answer = child.ask(prompt, response)
        finally:
            child.close()
    rm = child.reward_model
    lines = [clean(f"{rm.said}: {rm.folder}"), *probe_lines(answer)]
    emit(as_json, {"prompt": prompt, "response": response, **rm.document(), **answer}, lines)
