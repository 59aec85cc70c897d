"""What `rlhf-tui frontier` does: evaluate what is lacking, gather, print in one of three forms."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.vocab import FAMILIES

from .acting import Found as Named
from .acting import acting, emit, find_all, narrate, need_policy
from .curves import OVERALL
from .measuring import reporting
from .place import Place
from .render import clean, number_of
from .root_kl import Found, Point, csv_text, gather, table_lines

SCOPES = (OVERALL, *FAMILIES)
EVERY = 100  # points of best-of-n: more than there are


class Asked(NamedTuple):
    """Whose points, of which scope (None: of all), and how many may be evaluated first."""

    runs: tuple[str, ...]
    scope: str | None
    best_of_n: bool
    evaluate: int


def report(place: Place, asked: Asked, form: str) -> None:
    """Print the points as text, json or csv. Raises CommandError."""
    with acting(place, changes=False):
        runs = find_all(place, asked.runs)
        folders = {run.id: run.folder for run in runs}
        without = _without_checkpoint(runs)
        scopes = SCOPES if asked.scope is None else (asked.scope,)
        if not place.read_only:
            _evaluate(place, gather(place, folders, (), None, False).lacking[: asked.evaluate])
        found = gather(place, folders, scopes, None, asked.best_of_n)
    if form == "csv":
        print(csv_text(found, {key: key for key in folders}), end="")
    else:
        emit(form == "json", _document(found, folders, without), _lines(found, tuple(folders)))
    if found.lacking:
        narrate(f"note: {number_of(len(found.lacking), 'checkpoint')} not evaluated: --evaluate N")


def _without_checkpoint(runs: Sequence[Named]) -> list[Path]:
    """The folders of the runs that have none, each told; refused if no run has one."""
    from sessions.frontier import checkpoints
    from sessions.unready import policy_lack

    without = [run for run in runs if not any(checkpoints(run.folder))]
    if len(without) == len(runs):
        need_policy(without)
    for run in without:
        narrate(f"not evaluated: {run.id} is {policy_lack(run.folder, run.id)}")
    return [run.folder for run in without]


def _evaluate(place: Place, lacking: Sequence[tuple[str, Path]]) -> None:
    """Evaluate checkpoints in a child, one after the other; what fails is told and left out."""
    from sessions.evaluation_child import EvaluationError

    if not lacking:
        return
    evaluations = place.evaluations()
    with reporting(len(lacking)) as tell:
        for name, folder in lacking:
            try:
                evaluations.measure(folder, partial(tell, name))
            except EvaluationError as error:
                narrate(f"not evaluated: {name}: {error}")


def _document(found: Found, folders: Mapping[str, Path], without: Sequence[Path]) -> dict[str, Any]:
    """Per scope the checkpoints and best-of-n; what is not evaluated, by folder."""
    scopes = {}
    for scope, by_run in found.points.items():
        checkpoints = [
            {"run": key, "checkpoint": point.label, "step": point.at, **_figures(point)}
            for key, points in by_run.items()
            for point in points
        ]
        best = [{"n": point.at, **_figures(point)} for point in found.best.get(scope) or []]
        scopes[scope] = {"checkpoints": checkpoints, "best_of_n": best}
    lacking = [str(folder) for folder in (*(one for _, one in found.lacking), *without)]
    return {"runs": list(folders), "families": scopes, "not_evaluated": lacking}


def _figures(point: Point) -> dict[str, Any]:
    return {"kl": point.kl, "root_kl": point.root, "proxy": dict(point.proxy)}


def _lines(found: Found, names: Sequence[str]) -> Iterator[str]:
    told = replace(found, lacking=())
    shown = {name: clean(name) for name in names}
    for scope in found.points:
        yield from table_lines(told, scope, shown, 0, shutil.get_terminal_size().columns, EVERY)
        yield ""
    yield "root KL: square root of the KL (per-sequence k1, nats); proxy: raw reward-model"
    yield "score of n responses ± se over their prompts; best of n: KL by its bound"
    yield "log n - (n-1)/n"
