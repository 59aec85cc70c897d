"""Shared fixtures."""

from pathlib import Path

import pytest
from synthetic import Console


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """The command line over a made-up task folder and evaluator."""
    return Console(tmp_path)
