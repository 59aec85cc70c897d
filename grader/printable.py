"""Text of strangers, made harmless for a terminal and a report."""

import unicodedata


def _escaped(char: str) -> str:
    if char == "\n" or char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def printable(text: str, limit: int = 2000) -> str:
    """`text` with control, format and surrogate characters escaped; the end of it if too long."""
    text = unicodedata.normalize("NFC", text)
    return "".join(map(_escaped, text[-limit:]))


def one_line(text: str, limit: int = 200) -> str:
    """The same on one line, the beginning of it if too long."""
    line = " ".join(text.split())
    return printable(line if len(line) <= limit else line[: limit - 3] + "...", limit)
