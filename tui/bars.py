"""The lines above and below the panes, and what the runs pane says in the lower one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from .render import clean, fit, pad, width
from .state import State

if TYPE_CHECKING:
    from .panes import PaneKind

HINTS = "? keys  : commands  q quit "
FEWER_HINTS = "? keys "


def tabs_line(
    kinds: "Iterable[PaneKind]", current: str, title: str, room: int, jobs: Iterable[str] = ()
) -> Text:
    """The panes with their keys, the current one marked; of jobs and title what has room."""
    tabs = Text(no_wrap=True)
    for kind in kinds:
        style = "reverse bold" if kind.name == current else ""
        tabs.append(f" {kind.key} {kind.title} ", style=style)
    rest = max(0, room - width(tabs.plain))
    if shown := as_many(jobs, rest - 1):
        title = title if rest - width(shown) >= width(title) else ""
        tabs.append(pad(shown, max(0, rest - width(clean(title))), right=True), style="bold")
        rest = width(clean(title))
    return tabs.append(pad(clean(title), rest, right=True), style="dim")


def key_hints(keys: Iterable[str], room: int) -> str:
    """As many of the keys as have room, the first being the most important; help always."""
    help_key = "? help"
    return f" {as_many(keys, room - len(help_key) - 1)}{help_key}"


def as_many(parts: Iterable[str], room: int) -> str:
    """The first parts, as many as have room, each with two cells behind it."""
    shown = ""
    for part in parts:
        if width(f"{shown}{part}  ") > room:
            break
        shown += f"{part}  "
    return shown


def status_line(said: str, status: str, room: int) -> Text:
    """What there is to say, else the pane's status (both where there is room); `? keys` always."""
    left = f" {said or status}"
    if said and width(left) + width(status) + len(FEWER_HINTS) + 4 <= room:
        left += f"   {status}"
    hints = HINTS if room - width(left) - 2 >= len(HINTS) else FEWER_HINTS
    text = Text(fit(left, room - len(hints) - 1), style="bold" if said else "", no_wrap=True)
    return text.append(" " * max(0, room - width(text.plain) - len(hints))).append(hints, "dim")


def runs_status(state: State, first: int, last: int, at: int) -> str:
    """Counts, marks, filter, order. `first` to `last` are the rows on screen, `at` the cursor's."""
    shown = len(state.rows())
    count = f"row {at} of {shown}"
    count += "" if shown == len(state.runs) else f", {len(state.runs)} runs in all"
    parts = [count if shown <= last - first + 1 else f"{count} (lines {first}-{last})"]
    if state.marks:
        parts.append(f"{len(state.marks)} marked")
    if state.filter:
        parts.append(f"filter {clean(state.filter)}")
    if state.sort:
        parts.append(f"by {state.sort} {'▼' if state.reverse else '▲'}")
    if state.problems:
        parts.append(f"{len(state.problems)} problems (p)")
    return "  ".join(parts)
