"""Help and command palette, both made from the bindings: no key is written down twice."""

from collections.abc import Iterator, Sequence

from rich.text import Text
from textual.binding import Binding
from textual.screen import Screen

from .fields import FIELDS
from .widgets.choices import Choice


def _bindings(screen: Screen[object]) -> Iterator[tuple[str, Binding]]:
    """(key as shown, binding) of everything a key does here, one an action."""
    seen: dict[str, list[str]] = {}
    kept: dict[str, Binding] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description:
            seen.setdefault(binding.action, []).append(shown_key(binding))
            kept.setdefault(binding.action, binding)
    for action, binding in kept.items():
        yield " ".join(dict.fromkeys(seen[action])), binding


_NAMES = {
    "question_mark": "?",
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
    pairs = [(keys, binding.tooltip or binding.description) for keys, binding in _bindings(screen)]
    widest = max([len(keys) for keys, _ in pairs] or [0])
    text = Text()
    for keys, meaning in pairs:
        text.append(f"{keys:>{widest}}  ", style="bold").append(f"{meaning}\n")
    text.append("\nFilter: ", style="bold")
    text.append("terms must all hold; or, !term, ( ); field then : = != < <= > >= ~ and a value;\n")
    text.append("a bare word is part of the name. Fields: state kl steps dev.proxy balanced.kl\n")
    text.append("dune.kl dune.proxy.se train.kl mix.dune tags nonfinite seed wrapper created ...\n")
    return text


def commands(screen: Screen[object], looks: Sequence[str]) -> list[Choice]:
    """Everything that can be done here, by name; the key of a choice is its action."""
    choices = [
        Choice(binding.action, binding.description, f"{keys}  {binding.tooltip or ''}")
        for keys, binding in _bindings(screen)
        if binding.action not in ("palette", "app.palette")
    ]
    choices += [Choice(f"app.look('{look}')", f"look: {look}") for look in looks]
    choices += [
        Choice(f"app.sort('{key}')", f"sort by {key}", f.meaning) for key, f in FIELDS.items()
    ]
    return choices
