"""The looks: dark, light, ASCII; the colours of states and curves in each."""

import os
from collections.abc import Mapping

from textual.theme import Theme

LOOKS = ("dark", "light", "ascii")
# eight hues that stay apart for colour-blind eyes (Okabe and Ito), on dark and on light ground
DARK_CURVES = (
    *("#56b4e9", "#e69f00", "#2fc79a", "#f0e442"),
    *("#cc79a7", "#ff8c5a", "#9fb4ff", "#dddddd"),
)
LIGHT_CURVES = (
    *("#0072b2", "#b36b00", "#00795a", "#8a7d00"),
    *("#a8447c", "#c04000", "#4453c4", "#333333"),
)
THEMES = {
    "dark": Theme(
        name="rlhf-dark",
        primary="#56b4e9",
        secondary="#8fa3b8",
        accent="#e69f00",
        warning="#e6a93c",
        error="#ff6b6b",
        success="#2fc79a",
        foreground="#d8dee6",
        background="#11151a",
        surface="#171c23",
        panel="#232b35",
        dark=True,
    ),
    "light": Theme(
        name="rlhf-light",
        primary="#005f9e",
        secondary="#55636f",
        accent="#9a5b00",
        warning="#8a5a00",
        error="#b3261e",
        success="#00694e",
        foreground="#1d2329",
        background="#fbfbf8",
        surface="#f1f1ec",
        panel="#dfe3e6",
        dark=False,
    ),
}


def curve_colour(slot: int, look: str) -> str:
    """The colour of the series in `slot`."""
    return (LIGHT_CURVES if look == "light" else DARK_CURVES)[slot % 8]


def named_look(environment: Mapping[str, str] = os.environ) -> str | None:
    """The look that RLHF_TUI_LOOK names, if it names one."""
    named = environment.get("RLHF_TUI_LOOK", "").lower()
    return named if named in LOOKS else None


def chosen_look(environment: Mapping[str, str] = os.environ) -> str:
    """ASCII where the locale is not UTF-8 or the console is the kernel's, else dark."""
    if environment.get("TERM") == "linux":
        return "ascii"  # its fonts have some hundred glyphs, and no braille
    said = [environment.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    if said[1] == "C.UTF-8" and said[2] in ("", "C", "POSIX"):
        said[1] = ""  # not the person's: Python itself sets it where the locale is C
    locale = next((value for value in said if value), "")
    return "dark" if "utf" in locale.lower() else "ascii"
