"""What a number is: value, unit, n, standard error, where it comes from, why it is missing."""

from collections.abc import Mapping
from pathlib import Path

from .columns import cell
from .fields import FIELDS, Field, Run
from .render import clean, exact, figure
from .state import Row, are_numbers


def explain(row: Row, field: Field, folders: Mapping[str, Path]) -> list[tuple[str, str]]:
    """(label, text) lines about one cell of the runs list."""
    lines = _group(row, field) if row.is_group else _single(row.runs[0], field)
    lines += [
        ("what it is", field.meaning),
        ("measured on" if field.error else "from", field.source),
    ]
    if field.key == "state" and row.runs[0]["reason"]:
        lines.append(("because", clean(row.runs[0]["reason"])))
    lines += [
        ("folder", clean(str(folders[run["id"]]))) for run in row.runs[:1] if run["id"] in folders
    ]
    return lines


def _single(run: Run, field: Field) -> list[tuple[str, str]]:
    value = field.get(run)
    if value is None and field.key in run["nonfinite"]:
        return [("value", "not finite: it was NaN or infinite when it was measured")]
    if value is None:
        return [("value", "none"), ("why", _why(run, field))]
    unit = f" {field.unit}" if field.unit and are_numbers([value]) else ""
    lines = [("value", f"{in_full(value)}{unit}")]
    error = field.error(run) if field.error else None
    if error is not None:
        lines.append(("standard error", f"{exact(error)}{unit}"))
    if field.count and field.count(run) is not None:
        lines.append(("n", f"{exact(field.count(run))} samples"))
    return lines


def in_full(value: object) -> str:
    """A value of any kind on one line, unrounded as far as six figures go."""
    if isinstance(value, dict):
        return ", ".join(f"{clean(str(key))} {exact(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(clean(str(item)) for item in value)
    return exact(value)


def _why(run: Run, field: Field) -> str:
    if field.error and run["state"] in ("queued", "starting", "running", "stalled"):
        return f"the run is {run['state']}: it is measured when its final weights are there"
    return field.absent


def _group(row: Row, field: Field) -> list[tuple[str, str]]:
    values = row.values(field)
    unit = f" {field.unit}" if field.unit else ""
    lines = [("seeds", ", ".join(str(run["seed"]) for run in row.runs))]
    if are_numbers(values):
        lines.append(("mean", f"{exact(float(row.value(field)))}{unit}"))
        spread = row.spread(field)
        if spread is not None:
            lines.append(("spread", f"{figure(spread)}{unit}, standard deviation over the runs"))
    lines.append(("n", f"{len(values)} of {len(row.runs)} runs have a value"))
    for run in row.runs[:12]:
        lines.append((clean(run["name"])[:24], cell(Row(run["id"], (run,)), field)))
    return lines


def heading(row: Row, field: Field) -> str:
    """The title over an explanation."""
    name = clean(row.runs[0]["name"])
    key = field.key if field.key in FIELDS else field.title
    return f"{key} of {name}" + (f" and {len(row.runs) - 1} more seeds" if row.is_group else "")
