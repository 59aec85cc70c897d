"""The run view's lines of text: the open run's facts, and the legend that reads values out."""

from collections.abc import Sequence

from rich.text import Text

from .columns import COLUMNS, cell
from .looks import curve_colour
from .plotting import glyph
from .render import clean, fit
from .state import Row, State

_FACTS = (
    ("balanced.proxy", "evaluated proxy"),
    ("balanced.kl", "KL"),
    ("kl_coef", "coef"),
    ("steps", "steps"),
    ("mix", "mix"),
    ("seed", "seed"),
    ("wrapper", "wrapper"),
)


def facts_line(state: State, key: str, room: int) -> Text:
    """Name, state, figures and settings of a run, the most telling first, as many as have room."""
    run = state.runs[key]
    row = Row(key, (run,))
    text = Text.assemble((fit(clean(run["name"]) or key, 40), "bold"))
    text.append(f"  {cell(row, COLUMNS['state'])}")
    for column, title in _FACTS:
        fact = Text.assemble((f"  {title} ", "dim"), cell(row, COLUMNS[column]))
        if text.cell_len + fact.cell_len > room:
            break
        text.append_text(fact)
    return text.append(f"  {clean(run['reason'] or '')}", "dim")


def legend_lines(state: State, shown: Sequence[str], lines: Sequence[str], look: str) -> list[Text]:
    """The lines of a read-out, each run's with its glyph and colour before it."""
    texts = [Text(f"  {line}", "dim") for line in lines[:1]]
    for place, line in enumerate(lines[1:]):
        if line.startswith("  and "):
            texts.append(Text(line, "dim"))
        else:
            slot = state.slots[shown[place]]
            mark = (f"{glyph(slot, look == 'ascii')} ", curve_colour(slot, look))
            texts.append(Text.assemble(mark, line))
    return texts
