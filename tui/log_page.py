"""What of a log is on screen. No Textual here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sessions.log_pages import Line


@dataclass(frozen=True)
class Page:
    """What is on screen, and where that is."""

    lines: Sequence[Line] = ()
    size: int = 0
    first: int | None = None  # number of the first line, 1 is the log's first; None: not known yet
    known: int = 0  # lines counted so far
    following: bool = True
    said: str = ""  # why nothing can be shown, or what became of the file
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # matches by line offset
    found: int = 0
    searching: bool = False
    filtered: bool = False
    rows: bool = False  # it is read as rows of metrics, for want of an output
    path: Path | None = None  # of the file that is read

    @property
    def name(self) -> str:
        """The name of the file that is read."""
        return self.path.name if self.path is not None else ""
