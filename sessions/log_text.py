"""A line of somebody's output as text that is safe to show: the one place for that in logs.

Lines end at newlines only. A progress bar that rewrites its line with carriage returns is its
last state; bytes that are no UTF-8 are replaced; control sequences and characters are dropped.
"""

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
