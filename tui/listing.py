"""What `runs` does: scan, measure what is missing, choose, and print in one of three forms."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rlhf.vocab import FAMILIES

from .columns import COLUMNS, cell
from .exits import CommandError, Exit
from .export import flat
from .fields import FIELDS, K1, Run, getter
from .filter import FilterError, compile_filter
from .filter_pass import passing
from .measuring import measure_missing
from .order import ordered
from .place import Place
from .render import ascii_only, called, clean, document_text, figure, fit, mix, plain, with_error
from .state import Row
from .table import layout, to_csv


@dataclass(frozen=True)
class Query:
    """Which runs are wanted, in which order, and how many may be measured first."""

    filter: str = ""
    sort: str | None = None
    limit: int | None = None
    evaluate: int = 0


@dataclass(frozen=True)
class Chosen:
    """The runs a query chose. `total` counts those that matched, before the limit."""

    task: str
    runs: list[Run]
    total: int
    problems: list[dict[str, str]]


COLUMN_WIDTH = 12  # of the columns that are there only where there is something in them
PATIENCE_S = 5.0  # of processor time that a filter may take


@contextmanager
def _usage() -> Iterator[None]:
    """A filter or a field that cannot be used is a mistake of whoever typed it."""
    try:
        yield
    except (FilterError, KeyError) as error:
        message = error.args[0]
        raise CommandError(Exit.USAGE, message, fix="see rlhf-tui runs --help") from None


def collect(place: Place, query: Query) -> Chosen:
    """Scan, measure, filter, sort. Raises CommandError."""
    sort_by = (query.sort or "").removeprefix("-")
    with _usage():
        wanted = compile_filter(query.filter)
        if sort_by:
            getter(sort_by)
    catalogue = place.catalogue()
    listing = measure_missing(catalogue, catalogue.scan(), query.evaluate)
    with _usage():
        matching = passing(wanted, listing.runs, PATIENCE_S)
    if sort_by:
        matching = ordered(matching, sort_by, (query.sort or "").startswith("-"))
    return Chosen(str(place.task), matching[: query.limit], len(matching), listing.problems)


def show(chosen: Chosen, form: str) -> None:
    """Print to stdout as `json`, `csv` or `text`; problems of a text go to stderr."""
    if form == "json":
        print(document_text(document(chosen)))
    elif form == "csv":
        columns = dict(_csv_columns())
        rows = [[flat(get(run)) for get in columns.values()] for run in chosen.runs]
        print(to_csv(list(columns), rows), end="")
    else:
        _print_text(chosen)


def document(chosen: Chosen) -> dict[str, Any]:
    """The `runs --json` document."""
    return {
        "format": 1,
        "task": chosen.task,
        "total": chosen.total,
        "truncated": len(chosen.runs) < chosen.total,
        "problems": chosen.problems,
        "runs": [{k: v for k, v in run.items() if k not in _INNER} for run in chosen.runs],
    }


_INNER = ("verdict_stale",)  # for filters and the dashboard; `show --json` has it too


def _csv_columns() -> Iterator[tuple[str, Callable[[Run], Any]]]:
    for field in FIELDS.values():
        yield field.key, field.get
        if field.error and field.count:
            yield f"{field.key}.se", field.error
            yield f"{field.key}.n", field.count


def _print_text(chosen: Chosen) -> None:
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = text_table(chosen, limit)
    if "utf" not in (sys.stdout.encoding or "").lower():
        lines = [ascii_only(line) for line in lines]
    print("\n".join(lines))
    for problem in chosen.problems:
        print(clean(f"note: {problem['path']} {problem['message']}"), file=sys.stderr)


def text_table(chosen: Chosen, limit: int | None) -> list[str]:
    """Three stacked blocks of lines, at most `limit` cells wide; None cuts nothing."""
    if not chosen.runs:
        return ["no run matches" if chosen.total == 0 else "no run within the limit"]
    names = [called(run) for run in chosen.runs]
    settings = [_HEAD, *_settings(names, chosen.runs)]
    for key in ("wrapper", "verdict"):  # only where there is one
        if any(run[key] for run in chosen.runs):
            cells = [cell(Row(run["id"], (run,)), COLUMNS[key]) for run in chosen.runs]
            column = [key, *(fit(said, COLUMN_WIDTH) for said in cells)]
            settings = [[*row, said] for row, said in zip(settings, column, strict=True)]
    blocks = [layout(settings, limit, texts=(1, 4, 7, 8))]
    for metric, caption in (("proxy", "PROXY"), ("kl", "KL, nats")):
        head = [caption, "balanced", *FAMILIES]
        blocks.append(layout([head, *_figures(names, chosen.runs, metric)], limit))
    notes = [
        "proxy: raw reward-model score. balanced and families: 200 prompts a family,",
        "4 samples each, mean±standard error. dev: prompts_dev, the pilot mix.",
        f"KL: {K1.split(', in nats')[0]}, in nats.",
    ]
    count = len(chosen.runs)
    if count < chosen.total:
        notes.append(f"{count} of {chosen.total} runs shown")
    lines = [line for block in blocks for line in [*block, ""]]
    return [*lines, *(note if limit is None else fit(note, limit) for note in notes)]


_HEAD = ["RUN", "state", "kl coef", "steps", "prompt mix", "dev proxy", "dev KL"]


def _settings(names: Sequence[str], runs: Sequence[Run]) -> list[list[str]]:
    return [
        [
            name,
            run["state"],
            plain(run["kl_coef"]),
            _progress(run),
            mix(run["mix"]),
            figure((run["dev"] or {}).get("proxy")),
            figure((run["dev"] or {}).get("kl")),
        ]
        for name, run in zip(names, runs, strict=True)
    ]


def _progress(run: Run) -> str:
    step, steps = run["step"], run["steps"]
    if step is None or steps is None or step == steps or run["state"] == "queued":
        return plain(steps)
    return f"{plain(step)}/{plain(steps)}"


def _figures(names: Sequence[str], runs: Sequence[Run], metric: str) -> list[list[str]]:
    rows = []
    for name, run in zip(names, runs, strict=True):
        balanced = run["balanced"] or {}
        cells = [with_error(balanced.get(metric), balanced.get(f"{metric}_se"))]
        for family in FAMILIES:
            m = run["families"].get(family, {}).get(metric, {})
            cells.append(with_error(m.get("mean"), m.get("se")))
        rows.append([name, *cells])
    return rows
