"""Which runs the dashboard measures, asked and unasked. No Textual, no files."""

from collections.abc import Iterable

from .background import Background
from .fields import Run
from .measuring import lacks_figures
from .state import State

UNASKED = 24  # runs of one session that are measured without being asked for


class MeasureDesk:
    """Hands runs to the background, one batch at a time. `text` says how far it is."""

    def __init__(self, state: State, background: Background, read_only: bool) -> None:
        self._state, self._background, self._read_only = state, background, read_only
        self._tried: set[str] = set()
        self.text = ""

    def asked(self, keys: Iterable[str]) -> str:
        """Measure these runs; what to say if that cannot be."""
        runs = [self._state.runs[key] for key in keys if key in self._state.runs]
        missing = [run for run in runs if lacks_figures(run)]
        if self._read_only:
            return "--read-only: nothing is measured"
        if self.text:
            return "already measuring: wait until it is done"
        if not missing:
            return "nothing to measure: it has its figures, or has not ended"
        self._measure(missing)
        return ""

    def unasked(self) -> None:
        """Measure runs that have ended and have no figures: those there at first, and new ones."""
        if self._read_only or self.text:
            return
        missing = [
            run
            for run in self._state.runs.values()
            if lacks_figures(run) and run["id"] not in self._tried
        ]
        if missing := missing[: UNASKED - len(self._tried)]:
            self._tried |= {run["id"] for run in missing}
            self._measure(missing)

    def _measure(self, runs: list[Run]) -> None:
        self.text = "measuring"
        self._background.measure([(run["name"], self._state.folders[run["id"]]) for run in runs])
