"""Where a list stands: cursor, first row, first column, which columns fit. No Textual here."""

from collections.abc import Sequence

from .columns import Column

PINNED = 2  # columns that are always shown, at the left


class Viewport:
    """The part of a table that is on screen, moved no further than its cursor needs."""

    def __init__(self) -> None:
        self.row = 0  # the cursor's
        self.column = 1
        self.top = 0
        self.first = PINNED  # the first column shown after the pinned ones
        self._rows = 0
        self._columns: Sequence[Column] = ()
        self._height = 1
        self._width = 1

    def fit(self, rows: int, columns: Sequence[Column], width: int, height: int) -> None:
        """The table has `rows` and `columns`; the screen is `width` by `height` cells."""
        self._rows, self._columns = rows, columns
        self._width, self._height = width, max(1, height)
        self.move(self.row, self.column)

    def is_fit(self, width: int, height: int) -> bool:
        """Whether it was made for a screen of this size."""
        return (self._width, self._height) == (width, max(1, height))

    def carry(self, row: int) -> None:
        """The cursor's row is at another place now: the view moves with it."""
        self.top = max(0, self.top + row - self.row)
        self.row = row

    def move(self, row: int, column: int) -> bool:
        """Put the cursor there, as far as there is a there; whether the view moved."""
        before = (self.top, self.first)
        self.row = max(0, min(row, self._rows - 1))
        self.column = max(0, min(column, len(self._columns) - 1))
        self._follow()
        return before != (self.top, self.first)

    def page(self, by: int) -> bool:
        """Move cursor and view by whole screens."""
        self.top = max(0, self.top + by * self._height)
        self.move(self.row + by * self._height, self.column)
        return True

    @property
    def bottom(self) -> int:
        """The row after the last one on screen."""
        return min(self._rows, self.top + self._height)

    def _follow(self) -> None:
        highest = max(0, self._rows - self._height)
        self.top = min(self.top, highest, self.row)
        self.top = max(self.top, self.row - self._height + 1)
        self.first = max(PINNED, min(self.first, self.column))
        if self.column < PINNED:
            self.first = PINNED
        while self.first < self.column and not self._is_whole(self.column):
            self.first += 1
        last = len(self._columns) - 1
        while self.first > PINNED and self._fits(self.first - 1, last):
            self.first -= 1  # no empty room at the right, say after the window grew

    def _is_whole(self, column: int) -> bool:
        return self._fits(self.first, column)

    def _fits(self, first: int, last: int) -> bool:
        shown = [*self._columns[:PINNED], *self._columns[first : last + 1]]
        return sum(one.width + 1 for one in shown) <= self._width

    def shown(self) -> list[tuple[int, Column]]:
        """The columns on screen with their numbers: the pinned ones, and whole ones after them."""
        numbered = list(enumerate(self._columns))
        shown: list[tuple[int, Column]] = []
        room = self._width - 1
        for index, column in [*numbered[:PINNED], *numbered[self.first :]]:
            if room <= 0:
                break
            shown.append((index, column))
            room -= column.width + 1
        if len(shown) > PINNED and room < -1:
            shown.pop()  # a column cut in the middle of its numbers would lie
        return shown
