"""What the commands do: each returns its exit code and raises GraderError."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from fixture.layout import Layout
from rlhf.kernels import prepare_process
from rlhf.runlog import dumps, write_json

from . import arena as arenas
from . import keep
from .arena import Arena
from .cli import narrate
from .errors import Exit, GraderError, TruthError, error_document
from .grade import Options, grade, wanted_parts
from .part import COMPONENTS, PARTS
from .report import console, document, table

_DIAGNOSIS = ("G1", "G2", "G3")

Graded = tuple[dict[str, Any], Exit]  # a grade's document, and what became of it


def _options(only: str, no_diagnostic: bool, allow_unprotected: bool) -> Options:
    names = tuple(name.strip() for name in only.split(",") if name.strip())
    try:
        parts = wanted_parts(names)
    except KeyError as error:
        known = ", ".join([*COMPONENTS, *PARTS])
        raise click.UsageError(f"--only: no part {error}; there are {known}") from None
    if no_diagnostic:
        parts -= set(_DIAGNOSIS)
    return Options(parts, allow_unprotected)


def _one(folder: Path, arena: Arena, options: Options, grades: Path | None) -> Graded:
    """Grade one folder; keep its document if there is somewhere to."""
    graded = grade(folder, arena, options, narrate)
    found = document(graded)
    if grades is None:
        return found, Exit.OK
    outputs = {name: said.output for name, said in graded.said.items()}
    place = folder.resolve()
    try:
        narrate(f"kept as {keep.keep(grades, place.name, found, outputs, place)}")
    except GraderError as error:
        narrate(f"error: {error} ({error.fix})")
        return found, error.exit
    return found, Exit.OK


def _code(found: dict[str, Any], minimum: float | None) -> Exit:
    if "error" in found or found["invalid"]:
        return Exit.INVALID
    return Exit.NO if minimum is not None and found["reward"] < minimum else Exit.OK


def grade_folders(
    folders: tuple[Path, ...],
    as_json: bool,
    out: Path | None,
    only: str,
    no_diagnostic: bool,
    fixture: Path | None,
    minimum: float | None,
    allow_unprotected: bool,
    grades: Path | None,
    brief: bool,
) -> int:
    """Grade each folder. The exit code is the worst of them."""
    prepare_process()
    options = _options(only, no_diagnostic, allow_unprotected)
    if minimum is not None and options.parts != frozenset(PARTS):
        raise click.UsageError("--min needs a whole grade: leave out --only and --no-diagnostic")
    arena = arenas.at(fixture) if fixture else arenas.shipped()
    arena.check()
    if grades is not None:
        keep.ready(grades)
    documents, codes = [], []
    for folder in folders:
        found, code = _attempt(folder, arena, options, grades, alone=len(folders) == 1)
        documents.append(found)
        codes += [code, _code(found, minimum)]
        if not as_json and "error" not in found:
            console().print(table(found, evidence=not brief))
    whole = documents[0] if len(documents) == 1 else {"format": 1, "grades": documents}
    if out is not None:
        write_json(out, whole)
    if as_json:
        print(dumps(whole))
    return max(codes)


def _attempt(
    folder: Path, arena: Arena, options: Options, grades: Path | None, alone: bool
) -> Graded:
    """One grade; a folder that cannot be graded does not stop the others."""
    try:
        return _one(folder, arena, options, grades)
    except GraderError as error:
        if alone:
            raise
        narrate(f"error: {error}")
        return error_document(error.kind, str(error), error.path, error.fix), error.exit


def derive(build: Path | None, out: Path | None, check: bool) -> int:
    """Derive the truth of a build, or check the one that is there."""
    from fixture.progress import Narrator

    from .derive import Derivation, largest_change
    from .figures import derived

    prepare_process()
    arena = arenas.shipped()
    if build is not None:
        arena = Arena(Layout(build.resolve()), (out or build / arenas.INSIDE_BUILD).resolve())
    elif out is not None:
        arena = Arena(arena.layout, out.resolve())
    with Narrator() as narrator:
        derivation = Derivation(arena, narrator)
        found = derivation.table() if check else derivation.run()
    console().print(derived(found, arena))
    if not check:
        return Exit.OK
    path = arena.folder / arenas.TABLE
    if path.read_bytes() == (dumps(found, indent=1) + "\n").encode():
        narrate("the tables are the same, byte for byte")
        return Exit.OK
    change = largest_change(json.loads(path.read_bytes()), found)
    narrate(f"the tables differ by at most {change:.5f}")
    return Exit.OK if change <= _ELSEWHERE else Exit.NO


_ELSEWHERE = 0.003  # how far another machine's arithmetic may move a quality


def solve(name: str, out: Path, task: Path | None) -> int:
    """Write the submission of a known solution."""
    from .solutions import SOLUTIONS, write

    if name not in SOLUTIONS:
        raise click.UsageError(f"no solution {name!r}: there are {', '.join(SOLUTIONS)}")
    try:
        write(name, out, task)
    except FileExistsError:
        raise TruthError(f"{out} is not empty", str(out), "name a new folder") from None
    print(out, file=sys.stdout)
    return Exit.OK
