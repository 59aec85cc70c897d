"""What keys do is never cut off: at 80 columns the form's notes and every pane's hint are whole."""

import pytest

from tui.bars import status_line
from tui.launch_form import MEANINGS
from tui.screens.jobs import EMPTY
from tui.screens.launch import HINT

NOTE = 39  # cells of a note in the form at 80 columns


def test_the_launch_form_s_keys_fit_80_columns() -> None:
    assert len(HINT) <= 78 and "esc leave" in HINT and len(EMPTY) < 79


@pytest.mark.parametrize("option", MEANINGS)
def test_a_field_s_note_is_whole_or_begins_with_how_it_is_written(option: str) -> None:
    note = MEANINGS[option]
    assert len(note) <= NOTE or "  " in note[:NOTE]


@pytest.mark.parametrize("said", ["", "short", "x" * 300])
@pytest.mark.parametrize("status", ["1/6", "following  " * 20, "日本" * 60])
@pytest.mark.parametrize("room", [80, 40, 20])
def test_help_is_always_there(said: str, status: str, room: int) -> None:
    line = status_line(said, status, room)
    assert "? keys" in line.plain and line.cell_len <= room


def test_what_is_said_leaves_the_status_where_both_have_room() -> None:
    assert "1/6" in status_line("measuring reference (1/7)", "1/6", 80).plain
