"""A grade's document as lines: where the points went and why, most expensive loss first."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from .grading import COMPONENTS, Document, last_words, score_number, score_of, stage, stages
from .render import NONE, age, clean, exact, fit, number_of, pad

if TYPE_CHECKING:
    from sessions.grades import Grading

    from .grading import Item

MOST_EVIDENCE = 12  # comparisons shown of a part
MOST_OUTPUT = 12  # lines shown of what a diagnostic printed
UNPROTECTED = "A grades it without protection, after asking"


def loss_rows(document: Document) -> list[tuple[float, str, str, Document]]:
    """(points of the reward lost, component, part, its facts), the most expensive first."""
    rows = []
    for name, component in mapping(document, "components").items():
        parts = mapping(component, "parts")
        total = sum(score_number(_get(part, "weight")) or 0 for part in parts.values())
        share = (score_number(_get(component, "weight")) or 0) / total if total else 0
        for key, part in parts.items():
            score, weight = score_of(part), score_number(_get(part, "weight")) or 0
            lost = share * weight * (1 - score) if score is not None else 0.0
            rows.append((lost, str(name), str(key), part if isinstance(part, Mapping) else {}))
    return sorted(rows, key=lambda row: -row[0])


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def mapping(value: Any, key: str) -> Document:
    found = _get(value, key)
    return found if isinstance(found, Mapping) else {}


def objects(value: Document, key: str) -> list[Document]:
    found = value.get(key)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def detail_lines(document: Document, when: str, compared: str, room: int) -> list[Text]:
    """Everything that a grade tells, at most `room` cells wide."""
    if document.get("problem"):
        problem = clean(str(document["problem"]))
        return [Text(f"this grade cannot be read: {problem}", "bold"), Text("grade it again: g")]
    lines = [*_head(document, when, compared, room)]
    lost = loss_rows(document)
    lines += [Text(), Text("where points were lost, the most expensive first", "bold")]
    for row in lost:
        if row[0] > 0:
            lines += _lost(row, room)
    full = [_named(row) for row in lost if row[0] <= 0 and score_of(row[3]) == 1]
    lines.append(Text(f"nothing lost{'' if full else ': nowhere'}", "dim"))
    lines += [Text(fit(f"        {name}", room), "dim") for name in full]
    lines += [Text(), *_diagnostics(document), Text(), *_protection(document, room)]
    return [*lines, Text(), *_rest(document, room)]


def submission_lines(item: "Item", empty: Sequence[str]) -> list[Text]:
    """A submission: its folder, what it was made without, what can be done."""
    lines = [Text(item.label, "bold"), Text(clean(item.key))]
    if empty:
        left = f"made with {number_of(len(empty), 'field')} still empty, the first: {empty[0]}"
        lines += [Text(), Text(clean(left)), Text("rlhf-tui scaffold --check names those left")]
    return [*lines, Text(), Text("g grades it")]


def _head(document: Document, when: str, compared: str, room: int) -> Iterator[Text]:
    reward = score_number(document.get("reward"))
    total = NONE if reward is None else f"{reward:.4f}"
    head = f"{clean(str(document.get('submission')))}   reward {total}   {age(when)} ago"
    yield Text(head, "bold")
    if document.get("invalid"):
        yield Text("✗ invalid: neither a parseable answer.json nor checkpoint/policy.safetensors")
    skipped = document.get("skipped")
    if isinstance(skipped, list) and skipped:
        yield Text(f"not run: {clean(' '.join(map(str, skipped)))}; no reward without")
    said = f"a grade of the snapshot taken then; the folder {compared}"
    yield from (Text(line, "dim") for line in wrap(said, room))
    parts = mapping(document, "components")
    for name in [*COMPONENTS, *(key for key in parts if key not in COMPONENTS)][:12]:
        score, weight = score_of(parts.get(name)), score_number(_get(parts.get(name), "weight"))
        figures = f"{_bar(score)} {shown(score)} of weight {exact(weight)}"
        yield Text(f"  {pad(clean(str(name)), 10)} {figures}")


def _bar(score: float | None) -> str:
    filled = round(10 * max(0.0, min(1.0, score or 0.0)))
    return "█" * filled + "·" * (10 - filled)


def shown(score: float | None) -> str:
    return "    -" if score is None else f"{score:5.3f}"


def _named(row: tuple[float, str, str, Document]) -> str:
    """`decision D2 runs recommended as truth says`: a part, with what it asks if that is kept."""
    _, component, part, facts = row
    return clean(" ".join([component, part, *filter(None, [str(facts.get("asks") or "")])]))


def _lost(row: tuple[float, str, str, Document], room: int) -> Iterator[Text]:
    points, _, _, facts = row
    score = shown(score_of(facts)).strip()
    yield Text(fit(f"-{points:.3f}  {_named(row)}  score {score}", room))
    yield from _wrapped(clean(str(facts.get("why"))), room, "        ")
    rows = objects(facts, "evidence")
    for item in rows[:MOST_EVIDENCE]:
        yield from _wrapped(_evidence(item), room, "        ", "dim")
    if len(rows) > MOST_EVIDENCE:
        yield Text(f"        and {len(rows) - MOST_EVIDENCE} more in its grade.json", "dim")


def _evidence(item: Document) -> str:
    found, expected = item.get("found"), item.get("expected")
    mark = "  " if expected is None else "= " if found == expected else "≠ "
    wanted = "" if expected is None else f", expected {value_text(expected)}"
    return f"{mark}{clean(str(item.get('read')))}: {value_text(found)}{wanted}"


def value_text(value: Any) -> str:
    """A value of the document as the grader's own table words it."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return fit(", ".join(map(value_text, value[:12])) or "none", 300)
    if isinstance(value, Mapping):
        pairs = [f"{clean(str(key))}: {value_text(item)}" for key, item in value.items()]
        return fit("; ".join(pairs[:24]), 300)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else fit(clean(str(value)), 300)


def _wrapped(text: str, room: int, indent: str, style: str = "") -> Iterator[Text]:
    width = max(20, room - len(indent) - 1)
    for piece in wrap(text[:4000], width) or [""]:
        yield Text(f"{indent}{piece}", style)


def _diagnostics(document: Document) -> Iterator[Text]:
    yield Text("diagnostic on each reward model", "bold")
    rows = objects(document, "rms")
    for rm in rows[:32]:
        cpu = score_number(rm.get("cpu_s"))
        spent = "-" if cpu is None else f"{cpu:.1f} CPU-s"
        why = clean(str(rm.get("why") or ""))
        name, status = pad(clean(str(rm.get("name"))), 14), pad(clean(str(rm.get("status"))), 9)
        yield Text(f"  {name} {status} {spent:>10}  {why}")
        yield from _printed(_get(document.get("output"), str(rm.get("name"))))
    if not rows:
        yield Text("  it was not run", "dim")


def _printed(text: Any) -> Iterator[Text]:
    lines = text.splitlines()[-MOST_OUTPUT:] if isinstance(text, str) else []
    yield from (Text(f"      {clean(line)}", "dim") for line in lines)


def _protection(document: Document, room: int) -> Iterator[Text]:
    isolation = mapping(document, "isolation")
    if not isolation:
        yield Text("isolation: the diagnostic was not run", "dim")
        return
    canary = mapping(isolation, "canary")
    out = [clean(str(name)) for name, held in canary.items() if held is not True]
    proof = f"got out: {', '.join(out)}" if out else f"held on {len(canary)} counts"
    level, abi = clean(str(isolation.get("level"))), clean(str(isolation.get("abi")))
    yield Text(f"isolation {level}, Landlock ABI {abi}; canary {proof}")
    if out or level == "limits-only":
        advice = "weak: do not trust this grade of code from elsewhere. " + HOW_TO_PROTECT
        yield from _wrapped(advice, room, "  ")


HOW_TO_PROTECT = (
    "Install bubblewrap, or use a kernel with Landlock (Linux 5.19 or later), and grade again."
)


def _rest(document: Document, room: int) -> Iterator[Text]:
    for path, why in list(mapping(document, "problems").items())[:20]:
        yield from _wrapped(f"{clean(str(path))}: {clean(str(why))}", room, "  ")
    notes = document.get("notes")
    for note in notes[:10] if isinstance(notes, list) else ():
        yield from _wrapped(clean(str(note)), room, "  ")
    yield Text("sha256", "dim")
    for name, digest in list(mapping(document, "hashes").items())[:20]:
        yield Text(f"  {pad(clean(str(name)), 20)} {fit(value_text(digest), 64)}", "dim")


def grading_lines(one: "Grading", room: int) -> list[Text]:
    """A grading that waits, runs or ended without a grade: its stages, and what to do."""
    head = f"{clean(one.name)}   {one.state}   {age(one.started or one.created)} since it began"
    lines = [Text(head, "bold"), Text(clean(one.folder), "dim"), Text()]
    lines += [Text(f"{mark} {text}") for mark, text in stages(one.said)]
    if one.state in ("queued", "starting", "running"):
        hint = f"now: {stage(one.said)}" if one.state != "queued" else last_words(one)
        return [*lines, Text(), Text(hint), Text("X cancels it and all that it started", "dim")]
    lines += [Text(), *_wrapped(f"no grade: {last_words(one)}", room, "", "bold")]
    if any("--allow-unprotected" in text for text in one.said):
        lines += [*_wrapped(HOW_TO_PROTECT, room, ""), Text(UNPROTECTED)]
    return [*lines, Text("g grades it again", "dim")]
