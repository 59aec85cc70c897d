"""Histograms as they are drawn: no bin lost, true counts, runs told apart without colour."""

import math

import pytest

from tui.histograms import GROUND, Bars, Options, arranged, as_text, draw, merged


def test_every_bin_that_is_not_empty_shows() -> None:
    counts = [2000, 0, 1, 0, 0, 1]
    for log in (False, True):
        for slot in (GROUND, 0):
            grid = draw([Bars(slot, counts)], range(7), Options(29, 10, log)).grid
            lowest = "".join(cell for cell, _ in grid[-3][5:])
            cells = [lowest[at * 4 : at * 4 + 4].strip() for at in range(6)]
            assert [bool(cell) for cell in cells] == [bool(count) for count in counts]


def test_a_log_axis_has_true_counts() -> None:
    lines = as_text(draw([Bars(0, [1, 10, 100, 1000])], [0, 1, 2, 3, 4], Options(30, 14, True)))
    labels = [line.split("┤")[0].strip() for line in lines if "┤" in line]
    assert labels == ["1000", "100", "10", "1"]


def test_a_linear_axis_ends_at_the_highest_count() -> None:
    lines = as_text(draw([Bars(0, [3, 857])], [0, 1, 2], Options(30, 14)))
    assert lines[0].startswith("857┤")


@pytest.mark.parametrize("room", [1, 7, 36, 45, 72, 155])
def test_columns_hold_every_bin_once(room: int) -> None:
    counts = list(range(72))
    layout = arranged(len(counts), room)
    assert sum(merged(counts, layout.bins)) == sum(counts)
    columns = math.ceil(72 / layout.bins)
    assert columns * layout.cells <= room or room < 2
    spans = {layout.span(at, 72) for at in range(72)}
    assert sorted(at for span in spans for at in span) == list(range(72))


def test_a_run_is_told_from_the_reference_without_colour() -> None:
    bars = [Bars(GROUND, [5, 0]), Bars(0, [0, 5]), Bars(1, [0, 3])]
    for ascii, marks in ((False, "█●▲"), (True, "%*o")):
        text = "".join(as_text(draw(bars, [0, 1, 2], Options(20, 12, ascii=ascii))))
        assert all(mark in text for mark in marks)
