"""What of the tails is on screen: families, count axis, the bin under the cursor. No Textual."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from .histograms import Picture
from .render import clean, fit
from .state import State
from .tails_text import bars, note, read_out, scored_beside, scored_by
from .tails_view import Tails, remarks, table_lines

MOST = 6  # histograms that can be on screen at once
ROOM_FOR_SIX = (100, 34)  # cells of the terminal from which on six are shown

Room = tuple[int, int]  # columns and lines of the terminal


@dataclass
class Choice:
    """The choices of the person who looks; `cursor` None is the highest bin that is filled."""

    state: State
    alone: bool = False
    log: bool = False
    cursor_at: int | None = None

    def family(self, tails: Tails | None) -> str:
        """The family that is read out."""
        return self.state.family_of(tails.families if tails else ())

    def panels(self, tails: Tails | None, room: Room) -> list[str]:
        """The families whose histograms are shown."""
        if tails is None or not tails.families:
            return []
        here = self.family(tails)
        small = room[0] < ROOM_FOR_SIX[0] or room[1] < ROOM_FOR_SIX[1]
        if self.alone or small:
            return [here]
        first = tails.families.index(here) // MOST * MOST
        return tails.families[first : first + MOST]

    def cursor(self, tails: Tails) -> int:
        """The bin that is read out."""
        if self.cursor_at is not None and self.cursor_at < len(tails.edges) - 1:
            return self.cursor_at
        figures = tails.of(self.family(tails))
        filled = [at for one in figures for at, count in enumerate(one["counts"]) if count]
        return max(filled, default=0)

    def move(self, tails: Tails, bins: range, by: int) -> None:
        """Read out the bins so many columns further than `bins`."""
        target = bins.start + by * len(bins)
        self.cursor_at = max(0, min(target, len(tails.edges) - 2))

    def pictures(
        self, tails: Tails, panels: Sequence[str], owners: Sequence[int], look: str
    ) -> list[Picture]:
        """The histograms of the families; the cursor is in one of them."""
        return [self._picture(tails, family, owners, look, len(panels) > 1) for family in panels]

    def _picture(
        self, tails: Tails, family: str, owners: Sequence[int], look: str, several: bool
    ) -> Picture:
        here = family == self.family(tails)
        finite = any(one["n_finite"] for one in tails.of(family))
        return Picture(
            title=("▸ " if here and several else "") + clean(family),
            note=note(tails, family),
            bars=bars(tails, family, owners),
            edges=tails.edges if finite else (),
            log=self.log,
            cursor=self.cursor(tails) if here else None,
            look=look,
        )

    def readout(self, tails: Tails, bins: range, lacking: str, room: Room) -> list[Text]:
        """The lines under the histograms: the bin, the table, what is amiss."""
        family, most = self.family(tails), max(3, room[1] // 3)
        table = table_lines(tails, self.panels(tails, room), room[0] - 2)
        if len(table) > most:
            table = table_lines(tails, [family], room[0] - 2)
        at = "" if tails.edges else "no finite score"
        at = read_out(tails, family, bins) if bins else at
        said = [f"e samples and scores what has no scores yet: {lacking}"] if lacking else []
        said += list(remarks(tails, [family]))
        dim = [Text(fit(line, room[0] - 2), "dim") for line in said[:2]]
        return [Text(at, "bold"), Text(table[0], "dim"), *map(Text, table[1:most]), *dim]

    def status(self, tails: Tails, room: Room) -> str:
        """Which family on which count axis, whose scores if the legend has no room to say it, and
        whether lines could not be read."""
        here = tails.families.index(self.family(tails)) + 1 if tails.families else 0
        parts = [f"{clean(self.family(tails))}, family {here} of {len(tails.families)}"]
        parts.append(f"counts {'log' if self.log else 'linear'}")
        parts += [] if scored_beside(tails, room[0] - 2) else [scored_by(tails)[1]]
        bad = sum(source["bad_lines"] for source in tails.document["sources"])
        return "  ".join([*parts, *([f"{bad} bad lines (i)"] if bad else [])])
