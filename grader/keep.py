"""Kept grades: GRADES/ID/grade.json, one folder a grade, never inside a submission.

Beside it lies what the diagnostic printed about each RM, escaped: output/NAME.txt.
"""

import json
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rlhf.runlog import dumps, write_json

from .cli import narrate
from .errors import Exit, GraderError
from .report import comparison, console
from .snapshot import take

RECORD = "grade.json"
SOURCE = "source.json"
_MAX_NAME = 40


def _slug(name: str) -> str:
    text = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    return text[:_MAX_NAME] or "submission"


def ready(grades: Path) -> None:
    """See that a grade can be kept there, before it is made. Raises GraderError."""
    try:
        grades.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=grades).close()
    except OSError as error:
        message = f"no grade can be kept in {grades}: {error.strerror}"
        raise GraderError(message, str(grades), "name another folder: --grades DIR") from error


def keep(
    grades: Path,
    name: str,
    document: dict[str, Any],
    outputs: Mapping[str, str],
    source: Path | None = None,
) -> str:
    """Write `document` and the `outputs` under a new id made from `name`; returns the id.

    `source` is the folder that was graded: its path is kept beside the document, not in it.
    """
    grades.mkdir(parents=True, exist_ok=True)
    base, number = f"{_slug(name)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}", 1
    while True:
        identity = base if number == 1 else f"{base}-{number}"
        try:
            (grades / identity).mkdir()
        except FileExistsError:
            number += 1
            continue
        (grades / identity / "output").mkdir()
        for rm, text in outputs.items():
            (grades / identity / "output" / f"{rm}.txt").write_text(text)
        if source is not None:
            write_json(grades / identity / SOURCE, {"folder": str(source)})
        write_json(grades / identity / RECORD, document)
        return identity


def kept(grades: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """All kept grades by id, oldest first, and what is wrong with those that cannot be read."""
    found, problems = {}, {}
    folders = sorted(grades.iterdir(), key=_written) if grades.is_dir() else []
    for folder in folders:
        try:
            document = json.loads((folder / RECORD).read_bytes())
            found[folder.name] = {**document, "reward": document["reward"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            problems[folder.name] = f"{type(error).__name__}: {error}"
    return found, problems


def _written(folder: Path) -> tuple[float, str]:
    path = folder / RECORD
    return (path.stat().st_mtime if path.exists() else 0.0, folder.name)


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
