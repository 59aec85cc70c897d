"""What `rlhf-tui tails` does: measure what lacks scores, compute, print."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .acting import acting, emit, find_all, need_policy
from .exits import CommandError, Exit
from .families import only
from .histograms import GROUND, Bars, as_text, draw
from .measuring import reporting
from .place import Place
from .plotting import Options, glyph
from .render import ascii_only, clean, fit
from .tails_view import Tails, headline, remarks, scored_by, table_lines

if TYPE_CHECKING:
    from sessions import tails as kept
    from sessions.paths import Workspace

HEIGHT = 8  # lines of a histogram, its axis included
MOST_WIDTH = 100


class Asked(NamedTuple):
    """The runs and files whose tails are asked for."""

    runs: tuple[str, ...]
    files: tuple[Path, ...]
    alone: bool
    log: bool
    family: str | None = None  # the only one, on the axis of all
    scorer: str = "task"  # whose reward model scores: the task's, the run's, a folder


def report(place: Place, asked: Asked, as_json: bool) -> None:
    """Print the tails. Raises CommandError."""
    if not asked.runs and not asked.files:
        raise CommandError(Exit.USAGE, "name a run, or a score file with --file")
    with acting(place, changes=False) as workspace:
        document = _document(place, workspace, asked)
        document |= {"families": only(document["families"], asked.family)}
        lines = _lines(Tails(document), asked.log)
        emit(as_json, document, map(ascii_only, lines) if _plain_stdout() else lines)


def _document(place: Place, workspace: "Workspace", asked: Asked) -> "kept.Document":
    """The tails; files that are shown alone need no reference to be measured."""
    from sessions.reward_model import notes, scoring
    from sessions.tails import Tails as Kept
    from sessions.tails import Wanted

    named = find_all(place, asked.runs)
    need_policy(named)
    runs = [Wanted(*run) for run in named]
    task = place.checked_task()
    scorer = scoring(task, asked.scorer, [run.folder for run in runs])
    made = Kept(replace(task, scorer=scorer.folder), workspace, keep=not place.read_only)
    given = _given(asked.files)
    if not runs:
        found = made.document(given, with_reference=False)
        if asked.alone or found["alone"]:
            return found
    sources = [*_sources(place, made, runs, asked), *given]
    found = made.document(sources, with_reference=not asked.alone)
    return found | scorer.document() | {"notes": notes(made.scores.task, runs)}


def _sources(
    place: Place, made: "kept.Tails", runs: "list[kept.Wanted]", asked: Asked
) -> "list[kept.Source]":
    """The score files of the reference and the runs, measured where they are lacking."""
    from sessions.tails import Source

    wanted = runs if asked.alone else made.beside(runs)
    there, lacking = made.stored(wanted)
    files = {source.name: source.file for source in there}
    if lacking and place.read_only:
        names = ", ".join(one.name for one in lacking)
        raise CommandError(Exit.USAGE, f"{names}: no scores yet, and --read-only measures nothing")
    if lacking:
        with reporting(len(lacking)) as tell:
            for one in lacking:
                files[one.name] = made.scores.measure(one.folder, partial(tell, one.name))
    return [Source(one.name, files[one.name]) for one in wanted]


def _given(paths: tuple[Path, ...]) -> "list[kept.Source]":
    from sessions.tails import Source

    return [Source(path.name, path.expanduser().absolute()) for path in paths]


def _lines(tails: Tails, log: bool) -> Iterator[str]:
    columns = shutil.get_terminal_size().columns
    for family in tails.families:
        yield from _picture(tails, family, log, min(MOST_WIDTH, columns))
        yield from table_lines(tails, [family], columns)
        yield ""
    yield "n scores; ±, []: 95 % by prompt; ratio: (p99.5 - p50)/IQR; >ref: share beyond the"
    yield "reference's p99.5; shift: of the median, in IQRs of the reference. Single seed."
    told = (*scored_by(tails), *remarks(tails, tails.families))
    for line in (*told, *(f"not read: {x}" for x in tails.bad_lines())):
        yield from textwrap.wrap(line, columns, subsequent_indent="  ")


def _picture(tails: Tails, family: str, log: bool, width: int) -> Iterator[str]:
    figures, names = tails.of(family), tails.names
    ascii = _plain_stdout()
    yield fit(clean(family), width)
    ground = 1 if tails.has_reference else 0
    marks = ["%" if ascii else "█"] * ground + [glyph(i, ascii) for i in range(len(names) - ground)]
    for mark, name, one in zip(marks, names, figures, strict=True):
        yield f"{mark} {name}  {headline(one)}".rstrip()
    if not any(one["n_finite"] for one in figures):
        yield "no finite score"
        return
    slots = [GROUND] * ground + list(range(len(names) - ground))
    bars = [Bars(slot, one["counts"]) for slot, one in zip(slots, figures, strict=True)]
    lines = as_text(draw(bars, tails.edges, Options(width, HEIGHT, log, ascii)))
    yield from lines


def _plain_stdout() -> bool:
    """Whether nothing but ASCII can be printed."""
    return "utf" not in (sys.stdout.encoding or "").lower()
