"""Shared fixtures."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import Console
from toy_lab import Lab


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """The command line over a made-up task folder and evaluator."""
    return Console(tmp_path)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A workspace with the toy trainer; what it started is ended with the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.setenv("TOY_STEP_S", "0.01")
    made = Lab(tmp_path)
    yield made
    made.end_everything()
