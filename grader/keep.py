"""Kept grades: GRADES/ID/grade.json, one folder a grade, never inside a submission.

Beside it lies what the diagnostic printed about each RM, escaped: output/NAME.txt.
"""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlhf.runlog import write_json

from .errors import GraderError

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
        raise _unkept(grades, error) from error


def _unkept(grades: Path, error: OSError) -> GraderError:
    message = f"no grade can be kept in {grades}: {error.strerror}"
    return GraderError(message, str(grades), "name another folder: --grades DIR")


def keep(
    grades: Path,
    name: str,
    document: dict[str, Any],
    outputs: Mapping[str, str],
    source: Path | None = None,
) -> str:
    """Write `document` and the `outputs` under a new id made from `name`; returns the id.

    `source` is the folder that was graded: its path is kept beside the document, not in it.
    Raises GraderError if there is no room, and then leaves nothing.
    """
    try:
        place = _new_folder(grades, name)
        try:
            _fill(place, document, outputs, source)
        except OSError:
            shutil.rmtree(place, ignore_errors=True)
            raise
    except OSError as error:
        raise _unkept(grades, error) from error
    return place.name


def _new_folder(grades: Path, name: str) -> Path:
    grades.mkdir(parents=True, exist_ok=True)
    base, number = f"{_slug(name)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}", 1
    while True:
        place = grades / (base if number == 1 else f"{base}-{number}")
        try:
            place.mkdir()
            return place
        except FileExistsError:
            number += 1


def _fill(
    place: Path, document: dict[str, Any], outputs: Mapping[str, str], source: Path | None
) -> None:
    (place / "output").mkdir()
    for rm, text in outputs.items():
        (place / "output" / f"{rm}.txt").write_text(text)
    if source is not None:
        write_json(place / SOURCE, {"folder": str(source)})
    write_json(place / RECORD, document)


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
