"""Our figures beside those that are known, as tables for a person."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fixture.crowd import LEARNED_SHARE
from rlhf.vocab import FAMILIES

from .arena import STRONG, Arena

# gain of the strong reference over the reference in the original world, and how far another draw
# of the tables may be from it
_KNOWN_STRONG = {
    "anvil": 0.31,
    "birch": 0.39,
    "cobalt": 0.38,
    "dune": 0.33,
    "ember": 0.38,
    "fjord": 0.31,
}
_ROOM = 0.18


def _grid(*columns: str) -> Table:
    grid = Table(box=None, padding=(0, 1), show_edge=False)
    for column in columns:
        grid.add_column(column, justify="left" if column == columns[0] else "right")
    return grid


def _gain_rows(table: dict[str, Any]) -> Table:
    grid = _grid("true gain", *FAMILIES, "mean")
    reference = table["policies"]["policy"]
    for name, quality in table["policies"].items():
        gains = [quality[family] - reference[family] for family in FAMILIES]
        cells = [f"{gain:+.3f}" for gain in gains]
        grid.add_row(name, *cells, f"{sum(gains) / len(gains):+.3f}")
    return grid


def strong_inside(table: dict[str, Any]) -> dict[str, bool]:
    """Whether each family's gain of the strong reference is where the known row lets it be."""
    reference, strong = table["policies"]["policy"], table["policies"][STRONG]
    return {
        family: abs(strong[family] - reference[family] - known) <= _ROOM
        for family, known in _KNOWN_STRONG.items()
    }


def _pattern(fact: dict[str, Any]) -> str:
    place = {key: fact[key] for key in ("position", "slot", "value") if fact[key] is not None}
    where = "".join(f" {key} {value}" for key, value in place.items())
    return f"{fact['kind']} {'+'.join(fact['tokens'])}{where}"


def _learned_rows(table: dict[str, Any]) -> Table:
    grid = _grid("reward model", "family", "pattern", "planted", "learned", "share", "counts")
    for name, model in table["reward_models"].items():
        for fact in model["learned"]:
            share = fact["learned"] / fact["size"]
            row = (f"{fact['size']:.2f}", f"{fact['learned']:.3f}", f"{share:.2f}")
            counts = "yes" if fact["counts"] else f"no: under {LEARNED_SHARE:.2f}"
            grid.add_row(name, fact["family"], _pattern(fact), *row, counts)
        if not model["learned"]:
            grid.add_row(name, "clean", "", "", "", "", "")
    return grid


def derived(table: dict[str, Any], arena: Arena) -> RenderableType:
    """A derived table: gains, the strong reference against the known row, learned sizes."""
    parts: list[RenderableType] = [_gain_rows(table), Text()]
    if arena.world.spec.name == "standard":
        inside = strong_inside(table)
        known = " ".join(f"{family} {gain:+.2f}" for family, gain in _KNOWN_STRONG.items())
        out = [family for family, held in inside.items() if not held]
        parts.append(Text(f"strong reference in the original: {known}"))
        parts.append(Text(f"ours is outside on {', '.join(out)}" if out else "ours is inside"))
    strong = table["strong"]
    scores = ", ".join(f"seed {seed} {q:.4f}" for seed, q in strong["Q"].items())
    parts.append(Text(f"strong reference: {scores}; kept seed {strong['seed']}"))
    return Group(*parts, Text(), _learned_rows(table))
