"""What of a submission folder is still to be filled in, by name. Judges nothing else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import InputError
from .runfiles import read_object

ANSWER, SUMMARY, DIAGNOSTIC = "answer.json", "summary.md", "diagnostic.py"
HEADINGS = ("## Findings", "## Decision", "## How I computed this")
ENOUGH_EXPERIMENTS = 2
LONGEST_TEXT = 1 << 20  # bytes of a summary that are looked at


def still_empty(place: Path) -> list[str]:
    """What of a submission folder is still to be filled in, by name. Raises InputError."""
    problems: list[dict[str, str]] = []
    answer = read_object(place / ANSWER, problems)
    if answer is None:
        why = problems[0]["message"] if problems else "is missing"
        raise InputError(f"{place / ANSWER} {why}", str(place / ANSWER))
    return [*_in_answer(answer), *_in_files(place)]


def _in_answer(answer: Mapping[str, Any]) -> Iterator[str]:
    for key in ("recipe", "dev_eval", "certification"):
        part = answer.get(key)
        fields = part.items() if isinstance(part, dict) else ()
        empty = {name for name, value in fields if value in (None, "")}
        yield from (f"{key}.{name}" for name in sorted(empty))
        if not fields:
            yield key
    certified = answer.get("certification")
    lists = ("families_improved", "families_not_improved")
    if isinstance(certified, dict) and not any(certified.get(name) for name in lists):
        yield from (f"certification.{name}" for name in lists)
    rows = answer.get("run_assessments")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and not isinstance(row.get("recommend_ship"), bool):
            yield f"run_assessments.{row.get('run')!s:.64}.recommend_ship"
    made = answer.get("experiments")
    count = len(made) if isinstance(made, list) else 0
    if count < ENOUGH_EXPERIMENTS:
        yield f"experiments ({count} of {ENOUGH_EXPERIMENTS})"


def _in_files(place: Path) -> Iterator[str]:
    for heading in _headings_without_text(_text(place / SUMMARY)):
        yield f"{SUMMARY} {heading}"
    if not (place / DIAGNOSTIC).is_file():
        yield DIAGNOSTIC


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_TEXT).decode(errors="replace")
    except OSError:
        return ""


def _headings_without_text(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines()]
    for heading in HEADINGS:
        rest = lines[lines.index(heading) + 1 :] if heading in lines else []
        end = next((n for n, line in enumerate(rest) if line.startswith("## ")), len(rest))
        if not any(rest[:end]):
            yield heading
