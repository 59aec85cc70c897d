"""The Run pane's view of reward against root-KL: asks for the points, hands out plots and lines."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.geometry import Size

from rlhf.vocab import FAMILIES

from .curves import OVERALL, Curve, titled
from .looks import curve_colour
from .messages import FrontierFound
from .plotting import Series, glyph
from .render import clean, number_of
from .root_kl import BEST_OF_N, TITLE, Found, csv_text, look, series_of, table_lines, trajectory
from .state import State
from .tails_work import Cancel

if TYPE_CHECKING:
    from .screens.pane import Shell

SCOPES = (OVERALL, *FAMILIES)


class RootKL:
    """Which points are shown, and what is still looked for."""

    def __init__(self, state: State, shell: "Shell", post: Callable[[Any], Any]) -> None:
        self._state, self._shell, self._post = state, shell, post
        self._asked: tuple[str, ...] | None = None
        self._found: Found | None = None
        self._measuring = False
        self.on = False

    def look(self, shown: Sequence[str], anew: bool = False) -> None:
        """Look up the points of these runs, if they are not those at hand."""
        keys = tuple(shown)
        if keys == self._asked and not anew:
            return
        if keys != self._asked:
            self._found = None
        self._asked = keys
        self._shell.work("frontier", lambda: self._look_up(keys))

    def _look_up(self, keys: tuple[str, ...]) -> None:
        folders = self._state.folders
        runs = {key: folders[key] for key in keys if key in folders}
        with self._shell.background.held():
            cancel = Cancel(self._shell.background.stopping)
            found = look(self._shell.place, runs, SCOPES, cancel)
        self._post(FrontierFound(keys, found))

    def take(self, message: FrontierFound) -> None:
        """Points that were looked up."""
        if message.keys == self._asked:
            self._found = message.found

    def measure(self) -> str:
        """Evaluate what is not yet; what to say if that cannot be."""
        if self._shell.place.read_only:
            return "--read-only: nothing is evaluated"
        if self._measuring:
            return "already evaluating"
        if self._found is None or not self._found.lacking:
            return "nothing to evaluate" if self._found else "K looks for the checkpoints first"
        self._measuring = True
        lacking, background = list(self._found.lacking), self._shell.background

        def work() -> None:
            try:
                background.evaluate(lacking, background.notice)
            finally:
                self._measuring = False
            self._look_up(self._asked or ())  # by now

        self._shell.work("evaluate", work)
        return f"evaluating {number_of(len(lacking), 'checkpoint')} ..."

    def plot(self, scope: str, shown: Sequence[str]) -> tuple[str, str, list[Series]]:
        """Title, unit and series of a scope."""
        found = self._found or Found()
        series = [series_of(found.best.get(scope) or [], BEST_OF_N, line=True)]
        for key in reversed(shown):
            xs, ys, _ = trajectory(self._state.curves.get(key, Curve()), scope)
            slot = self._state.slots[key]
            series.append(Series(slot, xs, ys, gaps=False))
            points = (found.points.get(scope) or {}).get(key) or []
            series.append(series_of(points, slot, line=False))
        title = "proxy" if scope == OVERALL else f"{titled(scope)} proxy"
        return title, f"  RM score, by {TITLE}", [one for one in series if one.xs]

    def lines(self, shown: Sequence[str], scope: str, room: Size, look: str) -> list[Text]:
        """A legend, then the evaluated points as far as there is room."""
        legend = Text("  ")
        for key in shown:
            slot = self._state.slots[key]
            mark = glyph(slot, look == "ascii")
            legend.append(
                f"{mark} {clean(self._state.runs[key]['name'])}  ", curve_colour(slot, look)
            )
        best = f"{glyph(BEST_OF_N, look == 'ascii')} best of n from the reference"
        bound = ", KL by its bound log n - (n-1)/n"
        legend.append(best + bound * (legend.cell_len + len(best + bound) < room.width))
        if self._found is None:
            return [legend, Text("  looking for evaluated checkpoints, sampling best of n ...")]
        told = self.table(shown, scope, room.width)[: max(3, room.height // 3)]
        return [legend, *(Text(f"  {line}") for line in told)]

    def table(self, shown: Sequence[str], scope: str, room: int) -> list[str]:
        """The evaluated points of a scope."""
        curves = [self._state.curves.get(key, Curve()) for key in shown]
        left_out = sum(trajectory(curve, scope)[2] for curve in curves)
        names = {key: clean(self._state.runs[key]["name"]) for key in shown}
        return table_lines(self._found or Found(), scope, names, left_out, room)

    def csv(self) -> str:
        """All points."""
        names = {key: run["name"] for key, run in self._state.runs.items()}
        return csv_text(self._found or Found(), names)
