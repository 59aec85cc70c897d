"""A family chosen in one pane is where the others open; one or all of them are shown."""

import json
from pathlib import Path

import pytest
import toy_scores
from piloting import app_over, curves_of, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console
from test_tui_samples import RUN, family

from rlhf.vocab import FAMILIES
from tui.messages import SamplesFound
from tui.screens.samples import SamplesScreen

DUNE = "dune, family 4 of 6"


@pytest.fixture
def scores(scored: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A score file with the task's families."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(toy_scores.ROOT))
    path = tmp_path / "s.jsonl"
    rows = [{"family": name, "score": n} for name in FAMILIES for n in range(9)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


async def test_a_family_chosen_in_run_is_where_tails_and_samples_open(
    scored: Console, scores: Path
) -> None:
    app = app_over(scored)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        await app.open_run(RUN)
        await curves_of(app, pilot, RUN)
        await type_keys(app, "v", "v", "v", "v")
        await until(pilot, lambda: f"proxy, {DUNE}" in screen_text(app))
        await tails_shown(app, pilot, scores)
        await until(pilot, lambda: DUNE in screen_text(app))
        await type_keys(app, "x")
        screen = app.screen
        assert isinstance(screen, SamplesScreen)
        await until(pilot, lambda: "read-only" in screen_text(app))
        screen.on_samples_found(SamplesFound({"families": {f: family() for f in FAMILIES}}))
        await until(pilot, lambda: f"{RUN}   dune" in screen_text(app))
        await until(pilot, lambda: "by position   family 4 of 6" in screen_text(app))
        await type_keys(app, "v", "escape")
        await until(pilot, lambda: "ember, family 5 of 6" in screen_text(app))
        await type_keys(app, "2")
        await until(pilot, lambda: "proxy, ember, family 5 of 6" in screen_text(app))
        await type_keys(app, "v", "v")
        await until(pilot, lambda: "proxy, each family" in screen_text(app))
        await type_keys(app, "3")
        await until(pilot, lambda: "fjord, family 6 of 6" in screen_text(app))


async def test_a_family_that_only_a_score_file_has_is_none_of_the_run_s(
    scored: Console, tmp_path: Path, scores: Path
) -> None:
    scores.write_text('{"family": "x", "score": 1}\n{"family": "y", "score": 1}\n')
    app = app_over(scored)
    async with app.run_test(size=(160, 50)) as pilot:
        await ready(app, pilot)
        await app.open_run(RUN)
        await curves_of(app, pilot, RUN)
        await tails_shown(app, pilot, scores)
        await type_keys(app, "v")
        await until(pilot, lambda: "y, family 2 of 2" in screen_text(app))
        await type_keys(app, "2")
        await until(pilot, lambda: "proxy, overall" in screen_text(app))


@pytest.mark.parametrize(
    ("names", "said"),
    [("xy", "no room for more plots at this size"), ("x", "there is no other family to show")],
)
async def test_z_with_one_histogram_says_why_there_is_one(
    scored: Console, scores: Path, names: str, said: str
) -> None:
    scores.write_text("".join(f'{{"family": "{name}", "score": 1}}\n' for name in names))
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        await tails_shown(app, pilot, scores)
        await type_keys(app, "z")
        await until(pilot, lambda: said in screen_text(app))
