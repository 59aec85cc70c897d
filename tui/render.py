"""How data becomes text: the one place that strips control characters and formats numbers.

Names, log lines and tokens are not ours: nothing of them reaches a terminal but through here.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from rich.cells import cell_len, set_cell_size

from rlhf.runlog import dumps

NONE = "-"  # an empty cell; the explain key says why it is empty
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, invisible formats, surrogates, separators
_VARIATION = range(0xFE00, 0xFE10)  # would make a terminal and us disagree about widths
LONGEST = 10_000  # characters of one value that are looked at


@lru_cache(maxsize=20_000)
def clean(text: str) -> str:
    """`text` on one line, without escape sequences, control or invisible characters."""
    text = _SEQUENCES.sub("", text[:LONGEST])
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    return "".join(c for c in text if _is_safe(c))


def document_text(value: Any, indent: int | None = None) -> str:
    """`value` as JSON that every parser takes: a byte of a name that is no UTF-8 is a `?`."""
    text = dumps(value, indent)
    if "\\ud" not in text:
        return text
    whole = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace")
    return dumps(json.loads(whole), indent)


def _is_safe(character: str) -> bool:
    return unicodedata.category(character) not in _UNSAFE and ord(character) not in _VARIATION


def width(text: str) -> int:
    """Cells that `text` takes on a terminal."""
    return cell_len(text)


def called(run: Mapping[str, Any]) -> str:
    """What a run is called: its name, or its id where another run had that name before."""
    name, key = clean(str(run["name"])), clean(str(run["id"]))
    number = re.search(r"-\d+$", key)
    return key if not name or (number and not name.endswith(number[0])) else name


def fit(text: str, cells: int) -> str:
    """Clean text cut to at most `cells` cells; a cut is shown by an ellipsis."""
    if cells <= 0:
        return ""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…"


def pad(text: str, cells: int, right: bool = False) -> str:
    """Clean text cut and filled to exactly `cells` cells; `right` aligns it to the right."""
    if len(text) <= cells and text.isascii():
        return text.rjust(cells) if right else text.ljust(cells)
    text = fit(text, cells)
    blank = " " * (cells - cell_len(text))
    return blank + text if right else text + blank


def number_of(count: int, noun: str) -> str:
    """`1 grade`, `2 grades`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def figure(value: Any) -> str:
    """A number in about four characters: 0.31, 11.9, 1500, 3.2e+08; NONE if it is missing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}inf"
    size = abs(value)
    if size >= 1e5:
        return f"{float(value):.1e}" if size < 1e99 else _huge(value)
    if size and size < 0.005:
        return f"{value:.0e}"
    return f"{value:.{decimals(value)}f}"


def _huge(value: float | int) -> str:
    try:
        return f"{float(value):.0e}"
    except OverflowError:
        return f"{'-' if value < 0 else ''}>1e308"


def decimals(value: float) -> int:
    """Decimals that show `value` to about three figures."""
    size = abs(value)
    return 2 if size < 10 else 1 if size < 100 else 0


def with_error(mean: Any, error: Any, sign: str = "±") -> str:
    """`1.23±.01`: a mean with its standard error to the same decimals."""
    text = figure(mean)
    if text == NONE or "e" in text or not isinstance(error, int | float):
        return text
    places = decimals(mean)
    if 0 < error < 0.5 * 10**-places:
        return f"{text}{sign}<{10**-places:.{places}f}".replace("<0.", "<.")
    shown = f"{error:.{places}f}" if error < 1e5 else f"{error:.0e}"
    return f"{text}{sign}{shown.removeprefix('0') if shown.startswith('0.') else shown}"


def exact(value: Any) -> str:
    """A value in full, for where there is room: six figures of a number."""
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return clean(str(value))


def plain(value: Any) -> str:
    """A number as typed in a config: 0.1, 1500, 0.0003."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    if isinstance(value, int):
        return str(value) if abs(value) < 10**9 else figure(value)
    return f"{value:.4g}"


def mix(weights: Any) -> str:
    """Family shares in brief: `equal`, `a b c f equal`, `a.22 b.22 d.02`."""
    if not isinstance(weights, Mapping) or not weights:
        return NONE
    letters = {family: clean(str(family))[:1] for family in weights}
    values = [value for value in weights.values() if isinstance(value, int | float)]
    if values and max(values) - min(values) < 1e-9:
        return "equal" if len(values) == 6 else f"{''.join(letters.values())} equal"
    shared: dict[str, str] = {}
    for family, value in weights.items():
        shown = f"{value:.2f}".removeprefix("0").rstrip("0") or "0"
        shared[shown] = shared.get(shown, "") + letters[family]
    return " ".join(f"{names}{shown}" for shown, names in shared.items())


def age(stamp: Any, now: datetime | None = None) -> str:
    """Time since an ISO 8601 stamp in one unit: 42s, 7m, 3h, 12d."""
    try:
        then = datetime.fromisoformat(stamp)
        seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    except (TypeError, ValueError):
        return NONE
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(0, int(seconds))}s"


_ASCII = {
    ord(k): v
    for k, v in {
        "±": "~", "…": ".", "·": "-", "—": "-", "–": "-", "×": "x", "│": "|", "─": "-", "┌": "+",
        "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "█": "#",
        "▲": "^", "▼": "v", "●": "*", "○": "o", "◆": "+", "■": "#", "✓": "v", "✗": "x", "→": ">",
        "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▐": "|", "▔": "-", "▁": "_", "▄": "_", "▀": "-",
        "▂": "_", "▃": "_", "▅": "#", "▆": "#", "▇": "#",
        "╭": "+", "╮": "+", "╰": "+", "╯": "+", "╶": "-", "╴": "-", "┊": ":", "╌": "-", "◌": ".",
        "≠": "!", "▶": ">", "▸": ">", "‖": "=",
    }.items()
}  # fmt: skip


def ascii_only(text: str) -> str:
    """`text` for a terminal without UTF-8: look-alikes, and `?` for each other cell."""
    if text.isascii():
        return text
    text = text.translate(_ASCII)
    return "".join(c if c.isascii() else "?" * cell_len(c) for c in text)
