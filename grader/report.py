"""A grade as one JSON document, and as a table for a person."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .facts import Diagnosis
from .printable import one_line, printable

if TYPE_CHECKING:
    from .grade import Grade

_MOST_EVIDENCE = 8  # lines shown for a part; the document holds them all


def grader_version() -> str:
    """The installed version of this program."""
    try:
        return version("rlhf-tui")
    except PackageNotFoundError:
        return "unknown"


def _rm(said: Diagnosis) -> dict[str, Any]:
    row: dict[str, Any] = {"name": said.rm, "status": said.status, "cpu_s": round(said.cpu_s, 2)}
    if said.status == "ok":
        return row | {"risk": said.risk, "flag": said.flag}
    return row | {"why": said.why, "output": said.output}


def document(grade: "Grade") -> dict[str, Any]:
    """The document of `grade --json`. Equal for equal submissions, but for timing and cpu_s."""
    skipped = [
        part.name
        for component in grade.components
        for part in component.parts
        if part.score is None
    ]
    walls = {name: round(said.wall_s, 2) for name, said in grade.said.items()}
    return {
        "format": 1,
        "grader": grader_version(),
        "submission": one_line(grade.submission.snapshot.source.resolve().name),
        "reward": grade.reward,
        "invalid": int(grade.invalid),
        "components": {component.name: component.document() for component in grade.components},
        "skipped": skipped,
        "rms": [_rm(said) for said in grade.said.values()],
        "isolation": grade.isolation.document() if grade.isolation else None,
        "limits": {"wall_s": grade.limits.wall_s, "cpu_s": grade.limits.cpu_s},
        "hashes": grade.hashes,
        "seeds": grade.seeds,
        "problems": {
            one_line(path): one_line(why)
            for path, why in sorted(grade.submission.problems.items())[:100]
        },
        "notes": grade.notes,
        "timing": {"seconds": grade.timing, "diagnostic_wall_s": walls},
    }


def number(value: float | None, digits: int = 3) -> str:
    """A score as shown: a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_shown(item)}" for key, item in value.items())
    return "nothing" if value is None else one_line(str(value), 60)


def _evidence(part: dict[str, Any]) -> list[str]:
    """What cost points: the comparisons that did not hold, in words."""
    rows = [row for row in part["evidence"] if row["expected"] not in (None, row["found"])]
    lines = [
        f"{one_line(row['read'])}: {_shown(row['found'])} (expected {_shown(row['expected'])})"
        for row in rows[:_MOST_EVIDENCE]
    ]
    more = len(rows) - _MOST_EVIDENCE
    return [*lines, f"... and {more} more"] if more > 0 else lines


def _scores(shown: dict[str, Any], evidence: bool) -> Table:
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for name, justify in (("part", "left"), ("score", "right"), ("weight", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("why", overflow="fold")
    for name, component in shown["components"].items():
        score, weight = number(component["score"]), number(component["weight"], 2)
        table.add_row(Text(name, "bold"), Text(score, "bold"), weight, "")
        for part, facts in component["parts"].items():
            why = Text(f"{facts['asks']}; {one_line(facts['why'])}")
            if evidence and facts["score"] is not None and facts["score"] < 1:
                why.append("".join(f"\n{line}" for line in _evidence(facts)), "dim")
            table.add_row(f"  {part}", number(facts["score"]), number(facts["weight"], 2), why)
    return table


def _protection(shown: dict[str, Any]) -> str:
    isolation = shown["isolation"]
    if isolation is None:
        return "the diagnostic was not run"
    held = isolation["canary"]
    out = [name for name, kept in held.items() if not kept]
    proof = f"canary got out: {', '.join(out)}" if out else f"canary held on {len(held)} counts"
    return f"isolation {isolation['level']} (landlock abi {isolation['abi']}), {proof}"


def _failures(shown: dict[str, Any]) -> list[Text]:
    lines = []
    for rm in shown["rms"]:
        if rm["status"] != "ok":
            lines.append(Text(f"{rm['name']}: {rm['status']}, {rm['why']}"))
            tail = rm["output"].splitlines()[-5:]
            lines += [Text(f"    {printable(line, 200)}", "dim") for line in tail]
    return lines


def table(shown: dict[str, Any], evidence: bool = True) -> RenderableType:
    """A grade's document for a person: components, parts, what was lost and why, the total."""
    problems = [Text(f"{path}: {why}") for path, why in shown["problems"].items()]
    notes = [Text(note) for note in shown["notes"]]
    total = Text(f"reward {number(shown['reward'], 4)}", "bold")
    if shown["invalid"]:
        total.append("  invalid: neither a parseable answer.json nor checkpoint/policy.safetensors")
    elif shown["skipped"]:
        total.append(f"  no reward without {', '.join(shown['skipped'])}")
    seconds = sum(shown["timing"]["seconds"].values())
    foot = [Text(_protection(shown)), *notes, total, Text(f"{seconds:.1f} s")]
    head = Text(one_line(shown["submission"]), "bold")
    return Group(head, _scores(shown, evidence), *_failures(shown), *problems, *foot)


def comparison(kept: dict[str, dict[str, Any]]) -> Table:
    """Kept grades side by side, one a row."""
    names = list(dict.fromkeys(name for doc in kept.values() for name in doc["components"]))
    grid = Table(box=None, padding=(0, 1), show_edge=False)
    grid.add_column("grade", overflow="fold", min_width=28)
    for name in ["reward", *names]:
        grid.add_column(name, justify="right", no_wrap=True)
    for identity, doc in kept.items():
        scores = [number(doc["components"].get(name, {}).get("score")) for name in names]
        reward = "invalid" if doc["invalid"] else number(doc["reward"])
        grid.add_row(one_line(identity), reward, *scores)
    return grid


def console() -> Console:
    """Where tables go: stdout, without interpreting anything in the text."""
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
