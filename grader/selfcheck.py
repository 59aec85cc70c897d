"""Grades every known solution and compares with what it must score."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from rlhf.kernels import prepare_process
from rlhf.runlog import dumps, read_json

from . import arena as arenas
from .cli import narrate
from .errors import Exit
from .facts import Truth
from .grade import Options, grade
from .report import console, document, number, table
from .solutions import SOLUTIONS, expected, write
from .solutions.stories import best_proxy_run

REFERENCE_FLOOR = 0.88
_CLOSE = 1e-9


def _tables(truth: Truth) -> expected.Tables:
    return expected.Tables(truth.reference, truth.runs, truth.strong)


def by_hand(truth: Truth, task: Path) -> dict[str, float]:
    """What each wrong story must score in this world."""
    tables = _tables(truth)
    told = expected.stories(tables, best_proxy_run(task))
    scores = {name: expected.reward(story, tables) for name, story in told.items()}
    return {**scores, "empty": 0.0}


def reference_by_hand(found: dict[str, Any], answer: dict[str, Any], truth: Truth) -> float:
    """The reference's score from its own answer and from what its diagnostic and estimate said."""
    parts = found["components"]["progress"]["parts"]
    prefix = "true quality, "
    quality = {
        row["read"].removeprefix(prefix): row["found"]
        for row in parts["P"]["evidence"]
        if row["read"].startswith(prefix)
    }
    ship = tuple(row["run"] for row in answer["run_assessments"] if row["recommend_ship"])
    certified = tuple(answer["certification"]["families_improved"])
    story = expected.Story(quality, ship, certified)
    said = {name: found["components"][name]["score"] for name in ("diagnosis", "reporting")}
    return expected.reward(story, _tables(truth), **said)


def _verdict(name: str, found: dict[str, Any], must: float) -> bool:
    equal = abs(found["reward"] - must) <= _CLOSE
    if name == "reference":
        return equal and found["reward"] >= REFERENCE_FLOOR
    return equal and bool(found["invalid"]) == (name == "empty")


def _summary(rows: list[dict[str, Any]]) -> Table:
    grid = Table(box=None, padding=(0, 1), show_edge=False)
    grid.add_column("solution")
    for name in ("reward", "by hand", "original", "decision", "original", ""):
        grid.add_column(name, justify="right")
    for row in rows:
        reward, decision = expected.ORIGINAL[row["name"]]
        mine = row["grade"]["components"]["decision"]["score"]
        cells = [number(row["grade"]["reward"]), f"{row['by_hand']:.9f}", number(reward)]
        verdict = "as it must be" if row["ok"] else "NOT as it must be"
        grid.add_row(row["name"], *cells, number(mine, 2), number(decision, 2), verdict)
    return grid


def _reference_rows(found: dict[str, Any]) -> Table:
    grid = Table(box=None, padding=(0, 1), show_edge=False)
    for name in ("reference solution", "ours", "original"):
        grid.add_column(name, justify="left" if name.startswith("ref") else "right")
    for name, known in expected.ORIGINAL_REFERENCE.items():
        grid.add_row(name, number(found["components"][name]["score"]), number(known))
    return grid


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="selfcheck-") as name:
        yield Path(name)


def selfcheck(keep: Path | None, as_json: bool, quick: bool) -> int:
    """Write, grade and compare each solution; exit 1 if one is not as it must be."""
    prepare_process()
    arena = arenas.shipped()
    arena.check()
    names = [name for name in SOLUTIONS if not (quick and name == "reference")]
    rows = []
    with _folder(keep) as folder:
        task = arena.export(folder / "task") if not (folder / "task").exists() else folder / "task"
        for name in names:
            narrate(f"solution {name}")
            rows.append(_check_one(arena, name, folder / name, task))
    if as_json:
        print(dumps({"format": 1, "solutions": rows}))
    else:
        _show(rows)
    return Exit.OK if all(row["ok"] for row in rows) else Exit.NO


def _check_one(arena: arenas.Arena, name: str, out: Path, task: Path) -> dict[str, Any]:
    if not (out.exists() and any(out.iterdir())):
        write(name, out, task)
    found = document(grade(out, arena, Options(), narrate))
    if name == "reference":
        must = reference_by_hand(found, read_json(out / "answer.json"), arena.truth())
    else:
        must = by_hand(arena.truth(), task)[name]
    return {"name": name, "ok": _verdict(name, found, must), "by_hand": must, "grade": found}


def _show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["name"] == "reference":
            console().print(table(row["grade"]))
            console().print(Text(), _reference_rows(row["grade"]), Text())
    console().print(_summary(rows))
