"""Help and command palette, both made from the bindings: no key is written down twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from rich.text import Text
from textual.app import App
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen

from .fields import FIELDS
from .widgets.choices import Choice


@dataclass(frozen=True)
class Command:
    """Something the palette can do: how it is shown, and the action with where it belongs."""

    choice: Choice
    call: tuple[str, DOMNode]


def _bindings(screen: Screen[object]) -> Iterator[tuple[str, ActiveBinding]]:
    """(keys as shown, binding) of everything a key does here, one an action."""
    keys: dict[str, list[str]] = {}
    kept: dict[str, ActiveBinding] = {}
    for active in screen.active_bindings.values():
        # a screen of ours has a tooltip for each of its keys, Textual's own have none
        ours = active.binding.tooltip or not isinstance(active.node, Screen)
        if active.binding.description and ours:
            keys.setdefault(active.binding.action, []).append(shown_key(active.binding))
            kept.setdefault(active.binding.action, active)
    for action, active in kept.items():
        yield " ".join(dict.fromkeys(keys[action])), active


_BELL = "ring when a run ends, fails, stalls or is lost, or an alert fires"
_NAMES = {
    "question_mark": "?",
    "equals_sign": "=",
    "ampersand": "&",
    "colon": ":",
    "slash": "/",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def shown_key(binding: Binding) -> str:
    """A key as people write it."""
    return _NAMES.get(binding.key, binding.key)


def help_text(screen: Screen[object]) -> Text:
    """A line a key: key, what it does."""
    pairs = [(keys, a.binding.tooltip or a.binding.description) for keys, a in _bindings(screen)]
    widest = max([len(keys) for keys, _ in pairs] or [0])
    text = Text()
    for keys, meaning in sorted(pairs, key=lambda pair: _moves(pair[0])):
        text.append(f"{keys:>{widest}}  ", style="bold").append(f"{meaning}\n")
    for note in dict.fromkeys(getattr(a.node, "NOTE", "") for _, a in _bindings(screen)):
        text.append(f"\n{note}\n" if note else "")
    return text.append("\nFilter  ", style="bold").append(_FILTER)


def commands(screen: Screen[object], app: App[int], looks: Sequence[str]) -> dict[str, Command]:
    """Everything that can be done here, by name: panes first, moves of the cursor last."""
    calls = [(f"look('{look}')", f"look: {look}", "") for look in looks]
    calls += [(f"ring({on})", f"bell: {'on' if on else 'off'}", _BELL) for on in (True, False)]
    calls += [(f"sort_by('{key}')", f"sort by {key}", f.meaning) for key, f in FIELDS.items()]
    ranked = [(_rank(keys, active), _command(keys, active)) for keys, active in _bindings(screen)]
    ranked += [(1, Command(Choice(call, label, note), (call, app))) for call, label, note in calls]
    return {found.choice.key: found for _, found in sorted(ranked, key=itemgetter(0))}


def _command(keys: str, active: ActiveBinding) -> Command:
    binding = active.binding
    choice = Choice(binding.action, binding.description, f"{keys}  {binding.tooltip or ''}")
    return Command(choice, (binding.action, active.node))


def _rank(keys: str, active: ActiveBinding) -> int:
    return 0 if active.binding.action.startswith("pane(") else 2 if _moves(keys) else 1


def _moves(keys: str) -> bool:
    """Whether keys as shown move a cursor: the first of them is made for that."""
    return keys.split()[0].removeprefix("shift+") in _MOVING


_MOVING = ("up", "down", "left", "right", "home", "end", "pgup", "pgdn")
_FILTER = (
    "terms must all hold; or, !term, ( ); field then : = != < <= > >= ~ and a value; a bare word "
    "is part of the name. Fields: state kl steps dev.proxy balanced.kl dune.kl dune.proxy.se "
    "train.kl mix.dune tags nonfinite seed wrapper created and all others of runs --json.\n"
)
