"""What the commands do: each returns its exit code and raises GraderError."""

import json
import sys
import tempfile
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
from .grade import PARTS, Options, grade, wanted_parts
from .report import comparison, console, document, table
from .snapshot import take

_DIAGNOSIS = ("G1", "G2", "G3")


def _options(only: str, no_diagnostic: bool, allow_unprotected: bool) -> Options:
    names = tuple(name.strip() for name in only.split(",") if name.strip())
    try:
        parts = wanted_parts(names)
    except KeyError as error:
        known = ", ".join(["progress", "decision", "diagnosis", "reporting", *PARTS])
        raise click.UsageError(f"--only: no part {error}; there are {known}") from None
    if no_diagnostic:
        parts -= set(_DIAGNOSIS)
    return Options(parts, allow_unprotected)


def _one(folder: Path, arena: Arena, options: Options, grades: Path | None) -> dict[str, Any]:
    """Grade one folder; keep its document if there is somewhere to."""
    graded = grade(folder, arena, options, narrate)
    found = document(graded)
    if grades is not None:
        outputs = {name: said.output for name, said in graded.said.items()}
        place = folder.resolve()
        identity = keep.keep(grades, place.name, found, outputs, place)
        narrate(f"kept as {identity}")
    return found


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
    documents = []
    for folder in folders:
        found = _attempt(folder, arena, options, grades, alone=len(folders) == 1)
        documents.append(found)
        if not as_json and "error" not in found:
            console().print(table(found, evidence=not brief))
    whole = documents[0] if len(documents) == 1 else {"format": 1, "grades": documents}
    if out is not None:
        write_json(out, whole)
    if as_json:
        print(dumps(whole))
    return max(_code(found, minimum) for found in documents)


def _attempt(
    folder: Path, arena: Arena, options: Options, grades: Path | None, alone: bool
) -> dict[str, Any]:
    """One grade; a folder that cannot be graded does not stop the others."""
    try:
        return _one(folder, arena, options, grades)
    except GraderError as error:
        if alone:
            raise
        narrate(f"error: {error}")
        return error_document(error.kind, str(error), error.path, error.fix)


def list_grades(identities: tuple[str, ...], grades: Path, as_json: bool) -> int:
    """Show kept grades, all or those named."""
    found, problems = keep.kept(grades)
    unknown = [identity for identity in identities if identity not in found]
    if unknown:
        raise click.UsageError(f"no grade {unknown[0]!r} in {grades}")
    chosen = {key: doc for key, doc in found.items() if not identities or key in identities}
    if as_json:
        print(dumps({"format": 1, "grades": chosen, "problems": problems}))
    else:
        console().print(comparison(chosen) if chosen else "no grades yet")
    for identity, problem in problems.items():
        narrate(f"{identity} cannot be read: {problem}")
    return Exit.OK


def digest(folder: Path) -> int:
    """Print what `hashes.submission` would be if the folder were graded now."""
    with tempfile.TemporaryDirectory(prefix="digest-") as scratch:
        print(dumps({"format": 1, "submission": take(folder, Path(scratch)).digest}))
    return Exit.OK


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
