"""The Tails pane's lines: legend, what the cursor reads out, responses, files to write."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from .histograms import GROUND, Bars
from .looks import curve_colour
from .plotting import glyph
from .render import clean, document_text, figure, number_of, width
from .table import layout, to_csv
from .tails_view import QUANTILES, Tails, headline, not_finite
from .tails_work import Rows

ENDS = ("", ".low", ".high")  # of a figure's columns in a CSV
NO_RUN = "No run is open. Choose one in Runs (1) and press enter, or press o for a score file."


def slots(tails: Tails, known: dict[str, int]) -> list[int]:
    """Who draws each source: the ground for the reference, a run's own slot, the next free."""
    taken = set(known.values())
    given: list[int] = []
    for place, name in enumerate(tails.names):
        if place == 0 and tails.has_reference:
            given.append(GROUND)
        elif name in known:
            given.append(known[name])
        else:
            given.append(next(n for n in range(len(taken) + 1) if n not in taken))
            taken.add(given[-1])
    return given


def scored_by(tails: Tails) -> tuple[str, str]:
    """Whose scores they are, and the same in brief."""
    said = clean(str(tails.document.get("reward_model_is") or "a reward model"))
    brief = said.removeprefix("the ").removeprefix("a ").replace("reward model", "RM")
    return f"raw, by {said}", f"raw, {brief}"


def scored_beside(tails: Tails, room: int) -> str:
    """Whose scores they are, as far as that has room beside the names; the status says it else."""
    room -= sum(width(name) + 4 for name in tails.names)
    return next((said for said in scored_by(tails) if width(said) <= room), "")


def legend(tails: Tails, owners: Sequence[int], look: str, room: int) -> Text:
    """Every source with its mark, and whose scores they are, in so many cells."""
    line = Text(no_wrap=True)
    for name, owner in zip(tails.names, owners, strict=True):
        ground = owner == GROUND
        mark = ("%" if look == "ascii" else "█") if ground else glyph(owner, look == "ascii")
        line.append(f"{mark} ", "dim" if ground else curve_colour(owner, look))
        line.append(f"{name}  ", "dim" if ground else "bold")
    return line.append(scored_beside(tails, room), "dim")


def bars(tails: Tails, family: str, owners: Sequence[int]) -> list[Bars]:
    """The family's counts; the first run is drawn last, on top."""
    made = [Bars(o, one["counts"]) for o, one in zip(owners, tails.of(family), strict=True)]
    ground = [one for one in made if one.slot == GROUND]
    return ground + [one for one in reversed(made) if one.slot != GROUND]


def note(tails: Tails, family: str) -> str:
    """Beside a family's name: where the first run lies, and how many scores are not finite."""
    figures = tails.of(family)
    if not any(one["n_finite"] for one in figures):
        return "no finite score" if any(one["n"] for one in figures) else "no scores"
    first = figures[1] if tails.has_reference and len(figures) > 1 else None
    bad = [
        f"✗ {name}: {not_finite(one)}"
        for name, one in zip(tails.names, figures, strict=True)
        if not_finite(one)
    ]
    lead = f"{tails.names[1]} " if len(figures) > 2 else ""
    return "  ".join([*([lead + headline(first)] if first else []), *bad])


def bin_range(tails: Tails, bins: range) -> tuple[float, float]:
    """The lowest and highest score of some bins."""
    return tails.edges[bins.start], tails.edges[bins.stop]


def bin_words(tails: Tails, bins: range) -> str:
    """The range of bins as text; the last bin holds its upper end."""
    low, high = bin_range(tails, bins)
    end = "]" if bins.stop == len(tails.edges) - 1 else ")"
    return f"[{low:.4g}, {high:.4g}{end}"


def read_out(tails: Tails, family: str, bins: range) -> str:
    """The range under the cursor and the responses of every source in it, counted."""
    counts = [
        f"{name} {sum(one['counts'][bins.start : bins.stop])}"
        for name, one in zip(tails.names, tails.of(family), strict=True)
    ]
    return f"{clean(family)} in {bin_words(tails, bins)}: {', '.join(counts)}"


def responses(rows: Rows) -> Text:
    """The responses behind a bin, source by source."""
    body = Text(no_wrap=True, overflow="ellipsis")
    for name, found in rows.parts:
        total, shown = found["total"], found["rows"]
        more = f", the first {len(shown)}" if total > len(shown) else ""
        body.append(f"{clean(name)}: {number_of(total, 'response')}{more}\n", "bold")
        if shown:
            body.append("\n".join(_table(shown)) + "\n")
    return body


def _table(shown: Sequence[dict[str, object]]) -> list[str]:
    cells = [
        [
            clean(str(row["response"] or "-")),
            figure(row["score"]) if row["score"] != "missing" else "missing",
            figure(row["kl"]),
            clean(str(row["prompt"] or row["id"] or f"line {row['line']}")),
        ]
        for row in shown
    ]
    return layout([["response", "score", "KL, nats", "prompt"], *cells], None, texts=(3,))


def csv_text(tails: Tails) -> str:
    """A line for every family and source: figures with their intervals."""
    head = ["family", "run", "n", "n_finite", "nan", "pos_inf", "neg_inf", "missing"]
    spread = [f"{name}{end}" for name in (*QUANTILES, "ratio") for end in ENDS]
    beside = [f"{name}{end}" for name in ("above_ref_p99.5", "median_shift") for end in ENDS]
    lines = []
    for family in tails.families:
        for name, one in zip(tails.names, tails.of(family), strict=True):
            values = [*(one["quantiles"][key] for key in QUANTILES), one["tail_ratio"]]
            relation = one["beside_reference"] or {}
            beyond = _flat([relation.get(key) for key in ("above_p99_5", "median_shift")])
            counts = [one[key] for key in head[2:]]
            lines.append([clean(family), name, *counts, *_flat(values), one["max"], *beyond])
    return to_csv([*head, *spread, "max", *beside], lines)


def _flat(values: Sequence[Any]) -> list[Any]:
    """Value, low and high of each figure; nothing of one that is withheld."""
    return [(value or {}).get(key) for value in values for key in ("value", "low", "high")]


def json_text(tails: Tails) -> str:
    """The whole document, counts and edges included."""
    return document_text(tails.document) + "\n"
