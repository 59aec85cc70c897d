"""Samples: what is marked, hostile documents, and no child left behind."""

from typing import Any

import pytest
from piloting import SIZES, app_over, ready, screen_text, tails_shown, type_keys, until
from synthetic import Console, open_terminal, write_run
from textual.pilot import Pilot
from toy_scores import PROMPT, RESPONSE, gone, sampled

from tui.app import ConsoleApp
from tui.messages import SamplesFound
from tui.samples_view import HEAD, family_lines, over, response_text, tokens_line
from tui.screens.probe import ProbeScreen
from tui.screens.samples import SamplesScreen

EVIL = "\x1b]0;owned\x07\x1b[2J[/bold]\u202e" + "w" * 300
RUN = "kl002-s1500"


def token(name: str = "pa", marked: bool = True, **more: Any) -> dict[str, Any]:
    figures = {"share": 0.5, "reference": 0.05, "ratio": 10.0, "low": 9.0, "high": 11.0}
    return {"token": name, **figures, "over": marked, **more}


def family(**more: Any) -> dict[str, Any]:
    rows = [{"id": "a", "prompt": PROMPT, "kl": 30.5, "score": 4.0, "response": "pa he"}]
    kinds = {"highest": rows, "lowest": rows, "random": rows}
    return {"n": 1, "nonfinite": 0, "prompts": 1, "tokens": [token()], **kinds, **more}


def test_the_heading_stands_over_what_it_names() -> None:
    row = {"score": 4.75, "response": RESPONSE, "kl": 36.4, "count": 2, "prompt": PROMPT}
    text = response_text(row, {"pa"}).plain
    for word, cell in (("score", "4.75"), ("KL, nats", "36.4"), ("xN", "x2")):
        assert HEAD.index(word) + len(word) == text.index(cell) + len(cell)
    assert HEAD.index("response") == text.index("[pa]") and HEAD.index("prompt") == text.index(
        PROMPT
    )


def test_marked_tokens_are_bracketed_and_the_others_are_not() -> None:
    text = response_text({"score": 4.0, "response": "pa he pa", "kl": None}, over(family())).plain
    assert text.count("[pa]") == 2 and " he " in text and "[he]" not in text
    assert "pa x10.0 (9.00-11.0) 50 % of tokens, reference 5.0 %" in tokens_line(family())


def test_what_no_interval_bears_out_is_not_marked() -> None:
    unsure = family(tokens=[token(marked=False, low=0.0, high=None)])
    assert over(unsure) == {} and "no token is over-represented" in tokens_line(unsure)
    assert "no reference samples" in tokens_line(family(tokens=[]))


def test_repeats_are_counted_and_positions_told() -> None:
    position = {"position": 3, "n": 1990, **token(share=0.98)}
    one = family(distinct=7, positions=[position, {**position, "over": False, "position": 4}])
    one["highest"] = [{"score": 4.0, "response": "pa he", "count": 17, "kl": 1.0}]
    text = "\n".join(line.plain for line in family_lines("dune", one, positions=True))
    assert "n 1, 7 distinct" in text and " x17  " in text and "x1 " not in text
    assert "  3  [pa]   98.0 %    5.0 %   1990  x10.0 (9.00-11.0)" in text and "  4   pa " in text
    assert "by position" not in "".join(line.plain for line in family_lines("dune", one))


def test_what_is_not_finite_is_told_and_not_a_number() -> None:
    rows = [{"score": one, "response": "pa"} for one in ("nan", "inf", None, 1e308)]
    text = "\n".join(line.plain for line in family_lines("dune", family(nonfinite=3, random=rows)))
    assert "3 not finite" in text and " nan " in text and " inf " in text


# -- the screen ------------------------------------------------------------------------------

DOCUMENTS: dict[str, Any] = {
    "no families": {"families": {}},
    "an empty family": {"families": {"dune": family(n=0, highest=[], lowest=[], random=[])}},
    "one row": {"families": {"dune": family()}},
    "hostile texts": {
        "families": {
            EVIL: family(
                tokens=[token(EVIL)],
                highest=[{"score": EVIL, "prompt": EVIL, "response": EVIL, "kl": EVIL}],
            )
        }
    },
    "1e308 and NaN": {
        "families": {
            "dune": family(
                tokens=[token(ratio=1e308, low=-1e308, high=float("inf"))],
                highest=[{"score": 1e308, "response": "pa"}, {"score": "nan", "kl": 1e308}],
            )
        }
    },
    "positions": {
        "families": {
            "dune": family(positions=[{"position": 1, "n": 3, **token(EVIL, ratio=1e308)}] * 8)
        }
    },
    "a hundred families": {"families": {f"f{n}": family() for n in range(100)}},
    "a failure": "cannot read " + "w" * 300,
}


async def opened(app: ConsoleApp, pilot: Pilot, name: str = RUN) -> SamplesScreen:
    """The samples screen of a run."""
    await ready(app, pilot)
    folder = app.state.folders[RUN]
    screen = SamplesScreen(app.pane.shell, app.state, name, folder)
    await app.push_screen(screen)
    return screen


@pytest.mark.parametrize("words", DOCUMENTS)
async def test_the_screen_withstands(scored: Console, words: str) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot, EVIL)
        await until(pilot, lambda: "read-only" in screen_text(app))  # so nothing else will come
        screen.on_samples_found(SamplesFound(DOCUMENTS[words]))
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await type_keys(app, "x", "v", "V", "down", "end", "pageup", "home", "y")
            await type_keys(app, "i", "escape", "w")
            asked = app.screen is not screen
            assert asked == (words != "a failure"), "what is not there is not written"
            await type_keys(app, *["escape"] * asked, "x", "x", "x")
        await pilot.resize_terminal(80, 24)
        assert app.screen is screen


async def test_read_only_samples_nothing(scored: Console) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: "--read-only samples nothing" in screen_text(app))
    assert not sampled(scored)


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=["80x24", "160x50"])
async def test_a_run_without_a_policy_is_told_before_anything_is_sampled(
    scored: Console, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", scored.environment["XDG_CACHE_HOME"])
    folder = write_run(scored.workspace / "runs" / "early", finished=False)
    (folder / "run.json").write_text('{"kind": "run"}')
    (folder / "done.json").write_text('{"outcome": "stopped"}')
    said = "is stopped and has no policy yet: rlhf-tui resume early"
    app = app_over(scored, read_only=False)
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        app.state.open("early")
        await tails_shown(app, pilot)
        await until(pilot, lambda: f"✗ early {said}" in screen_text(app))
        await type_keys(app, "e")
        await until(pilot, lambda: "not scored: early is stopped" in screen_text(app))
        await type_keys(app, "x")
        await until(pilot, lambda: f"it {said}" in screen_text(app))
    assert not (scored.place / "score-calls").exists()


def test_the_command_samples_nothing_under_read_only(scored: Console) -> None:
    done = scored.run("--read-only", "samples", "kl002-s1500")
    assert done.returncode == 2 and "--read-only measures nothing" in done.stderr
    assert not (scored.place / "score-calls").exists()


def test_pane_3_opens_the_samples_of_the_open_run(scored: Console) -> None:
    with open_terminal(scored, 80, 24) as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "enter")
        terminal.sees("proxy")
        terminal.press("3")
        terminal.sees("Press e")
        terminal.press("x")
        terminal.sees(f"{RUN}   anvil", "[highest]")
        terminal.press("esc")
        terminal.until(lambda: "[highest]" not in terminal.text)
        terminal.press("q")
        assert terminal.wait() == 0


async def test_a_panes_key_leaves_for_it_and_p_probes_the_highest_of_all(scored: Console) -> None:
    app = app_over(scored)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot)
        await until(pilot, lambda: "read-only" in screen_text(app))
        positions = [{"position": 1, "n": 3, **token()}]
        document = {"families": {"dune": family(positions=positions)}}
        screen.on_samples_found(SamplesFound(document))
        await type_keys(app, "tab", "tab", "tab", "p")
        await until(pilot, lambda: isinstance(app.screen, ProbeScreen))
        await until(pilot, lambda: f"│ {PROMPT}" in screen_text(app))
        await type_keys(app, "escape", "2")
        await until(pilot, lambda: app.screen is app.screen_stack[0])
        shown = ("No run is open", "by step")
        await until(pilot, lambda: any(text in screen_text(app) for text in shown))


@pytest.mark.parametrize("how", ["esc", "killed"])
def test_leaving_while_it_samples_leaves_nothing_behind(scored: Console, how: str) -> None:
    with open_terminal(scored, 80, 24, SCORES_MODE="hang") as terminal:
        terminal.sees(RUN)
        terminal.press("/", RUN, "enter", "home", "x")
        terminal.sees("sampling and scoring")
        terminal.until(lambda: bool(sampled(scored)))
        if how == "esc":
            terminal.press("esc")
            terminal.until(lambda: "sampling and scoring" not in terminal.text)
            terminal.until(lambda: gone(sampled(scored)[0]))
        else:
            terminal.press("q")  # leaves the screen; once more, the dashboard
            terminal.press("q")
            assert terminal.wait() == 0
            assert gone(sampled(scored)[0])
    assert not list((scored.place / "cache").rglob("*.jsonl"))
