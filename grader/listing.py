"""What needs no torch: the kept grades as a table, and what a submission's hash is."""

import tempfile
from pathlib import Path

import click

from rlhf.runlog import dumps

from .cli import narrate
from .errors import Exit
from .keep import kept
from .report import comparison, console
from .snapshot import take


def list_grades(identities: tuple[str, ...], grades: Path, as_json: bool) -> int:
    """Show kept grades, all or those named; returns the exit code."""
    found, problems = kept(grades)
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
