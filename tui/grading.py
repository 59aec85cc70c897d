"""What the Grade pane lists: submissions, gradings under way, kept grades. No Textual here."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .marks import STATE_MARKS
from .render import NONE, age, clean, figure, pad

if TYPE_CHECKING:
    from sessions.grades import Grading, Kept, Shelf

COMPONENTS = ("progress", "decision", "diagnosis", "reporting")
SHORT = tuple(f"{name[:3]}." for name in COMPONENTS)
LEGEND = (
    f"{' '.join(SHORT)} are the scores of {', '.join(COMPONENTS)}, from 0 to 1. "
    "enter on a grade says what each of their parts asks; all: rlhf-tui grade --help"
)
HEAD, SUBMISSION, GRADING, GRADE = "head", "submission", "grading", "grade"
_BEGINS = re.compile(r"diagnostic (\d+)/(\d+): begins on (\S+), (at most .*)")
_ENDED = re.compile(r"diagnostic (\d+)/(\d+): (?!begins)(.*)")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Item:
    """A line of the list. `key` is a folder or an id; a heading has neither."""

    kind: str
    key: str = ""
    label: str = ""
    at: float = 0.0
    grading: "Grading | None" = None


def items(shelf: "Shelf") -> list[Item]:
    """Everything in order, under its headings; newest first."""
    found = [Item(HEAD, label=f"submissions ({len(shelf.submissions)})")]
    found += [Item(SUBMISSION, place, clean(Path(place).name)) for place in shelf.submissions]
    found.append(Item(HEAD, label=f"grades ({len(shelf.gradings) + len(shelf.kept)})"))
    found += [Item(GRADING, one.id, clean(one.name), 0.0, one) for one in shelf.gradings]
    found += [_grade(one) for one in shelf.kept]
    return found


def _grade(one: "Kept") -> Item:
    return Item(GRADE, one.id, clean(one.id), one.at)


def columns(room: int) -> int:
    """The cells that a name gets in a list `room` cells wide."""
    return max(10, room - 2 - 9 - 7 - 4 * 5 - 12 - 5)


def titles(room: int) -> str:
    """The heading over the figures of grades."""
    names = " ".join(SHORT)
    head = (
        f"  {'state':8} {pad('', columns(room))} {'reward':>6} {names} {'isolation':11} {'age':>4}"
    )
    return pad(head, room)


def line(item: Item, document: Document | None, room: int) -> str:
    """An item on one line; `document` is a grade's, once it was read."""
    if item.kind == SUBMISSION:
        name = pad(item.label, columns(room) + 9)
        return pad(f"  {name} {clean(str(Path(item.key).parent))}", room)
    if item.grading is not None:
        one = item.grading
        state = f"{STATE_MARKS.get(one.state, '?')} {one.state}"
        said = stage(one.said) if one.state == "running" else last_words(one)
        return pad(f"  {pad(state, 10)} {item.label}  {said}", room)
    return pad(_grade_line(item, document, room), room)


def _grade_line(item: Item, document: Document | None, room: int) -> str:
    name, since = pad(item.label, columns(room)), age(stamp(item.at))
    if document is None:
        return f"  {'...':8} {name}"
    parts = document.get("components")
    scores = [
        score_of(parts.get(key)) if isinstance(parts, Mapping) else None for key in COMPONENTS
    ]
    shown = " ".join(pad(_score(score), 4, right=True) for score in scores)
    level = pad(isolation_level(document), 11)
    reward = pad(_reward(document), 6, right=True)
    return f"  {state_of(document):8} {name} {reward} {shown} {level} {since:>4}"


def stamp(at: float) -> str | None:
    """Seconds since the epoch as ISO 8601; None for a time that is none."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat() if at else None
    except (OverflowError, ValueError, OSError):
        return None


def state_of(document: Document) -> str:
    """graded, partial (a part was not run), invalid, or torn (it cannot be read)."""
    if document.get("problem"):
        return "torn"
    if document.get("invalid"):
        return "invalid"
    return "graded" if score_number(document.get("reward")) is not None else "partial"


def score_number(value: Any) -> float | None:
    """A finite number, else None."""
    from sessions.runfiles import number

    return number(value)


def score_of(part: Any) -> float | None:
    """The score of a component or part."""
    return score_number(part.get("score")) if isinstance(part, Mapping) else None


def _score(value: float | None) -> str:
    return NONE if value is None else figure(value)


def _reward(document: Document) -> str:
    value = score_number(document.get("reward"))
    return NONE if value is None else f"{value:.3f}" if abs(value) < 100 else figure(value)


def isolation_level(document: Document) -> str:
    """What protected the grader, in a word."""
    isolation = document.get("isolation")
    return clean(str(isolation.get("level"))) if isinstance(isolation, Mapping) else NONE


def stage(said: tuple[str, ...]) -> str:
    """What a grading does now, by its narration."""
    told = list(_narrated(said))
    return clean(told[-1]) if told else "starting"


def _narrated(said: tuple[str, ...]) -> Iterator[str]:
    """The narration without the headers of attempts."""
    return (text for text in said if not text.startswith("---"))


def last_words(one: "Grading") -> str:
    """Why a grading waits or ended without a grade."""
    if one.state == "queued":
        return clean(one.reason or "waits for a free slot (Jobs)")
    told = [line for line in one.said if line.startswith("error:")]
    return clean(told[-1] if told else one.reason or "")


def stages(said: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(mark, text) of each stage so far: done, or the one at hand."""
    begun: dict[str, str] = {}
    lines = []
    for text in _narrated(said):
        begins, ended = _BEGINS.match(text), _ENDED.match(text)
        if begins:
            begun[begins[1]] = begins[3]
            lines.append(
                (begins[1], f"diagnostic {begins[1]}/{begins[2]} on {begins[3]}, {begins[4]}")
            )
        elif ended:
            on = begun.get(ended[1], "")
            lines = [pair for pair in lines if pair[0] != ended[1]]
            lines.append(("", f"diagnostic {ended[1]}/{ended[2]} on {on}: {ended[3]}"))
        else:
            lines.append(("", text))
    for place, (open_number, text) in enumerate(lines, start=1):
        going = bool(open_number) or place == len(lines)
        yield ("▶" if going else "✓"), clean(text)
