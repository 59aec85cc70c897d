"""A line of somebody's output as text that is safe to show: the one place for that in logs.

Lines end at newlines only. A progress bar that rewrites its line with carriage returns is its
last state; bytes that are no UTF-8 are replaced; control sequences and characters are dropped.
"""

import json
import re
import unicodedata

LONGEST = 10_000  # characters of one line that are kept
LONGEST_BYTES = 4 * LONGEST
CUT = "…"
ERRORS = r"(?i)\b(error|exception|traceback|fatal|killed|nan|out of memory)\b"
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
)
# of a row of log.jsonl: key, as it is called to a person, unit
_METRICS = (
    ("proxy_reward", "proxy", ""),
    ("kl", "KL", " nats (k1)"),
    ("entropy", "entropy", ""),
    ("loss", "loss", ""),
    ("shaped_reward", "shaped", ""),
    ("elapsed_s", "after", " s"),
)
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, invisible formats, surrogates, separators


def line_text(raw: bytes) -> str:
    """The text of one line, given without its newline."""
    if b"\r" in raw:
        raw = raw.rstrip(b"\r")
        raw = raw[raw.rfind(b"\r") + 1 :]
    text = raw[: LONGEST_BYTES + 1].decode("utf-8", "replace")
    if not text.isprintable():
        text = _SEQUENCES.sub("", text).replace("\t", "    ")
        text = "".join(c for c in text if unicodedata.category(c) not in _UNSAFE)
    return text if len(text) <= LONGEST else text[:LONGEST] + CUT


def row_text(text: str) -> str:
    """A row of log.jsonl as a line to read; what is no such row stays as it is."""
    try:
        row = json.loads(text)
        parts = [f"step {int(row['step']):>6}"]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return text
    told = ((title, row[key], unit) for key, title, unit in _METRICS if key in row)
    return "  ".join([*parts, *(f"{title} {_figure(value)}{unit}" for title, value, unit in told)])


def _figure(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "not finite" if value is None else "?"
    try:
        return f"{value:>6.3g}"
    except OverflowError:  # an integer of hundreds of digits
        return "?"
