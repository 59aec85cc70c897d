"""The launch form: what is typed is judged, forecast and launched; nothing hostile gets through."""

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from operating import place_of, toys  # noqa: F401
from piloting import SIZES, ready, screen_text, type_keys, until
from textual.pilot import Pilot
from textual.widgets import Input
from toy_lab import ROOT, Lab

from rlhf.config import DEFAULTS, resolve
from rlhf.runlog import write_json
from rlhf.vocab import FAMILIES
from sessions.paths import shipped_task
from sessions.record import load
from tui.app import ConsoleApp
from tui.launch_form import Draft, base_texts, field_of
from tui.launch_options import axes_of
from tui.launch_preview import Preview
from tui.messages import Previewed
from tui.place import Place
from tui.screens.launch import LaunchScreen
from tui.widgets.lines import Lines
from tui.wrapper_files import source_lines

HOSTILE = "\x1b]0;owned\x07\x1b[31mred[/bold]\u202e" + "x" * 300


def fill(app: ConsoleApp, **texts: str) -> None:
    for option, text in texts.items():
        app.screen.query_one(f"#launch-{option}", Input).value = text


def said(app: ConsoleApp) -> str:
    return "\n".join(app.screen.query_one("#launch-preview", Lines).plain)


def marked(app: ConsoleApp) -> list[str]:
    return [row.option for row in app.screen.query(".wrong")]  # type: ignore[attr-defined]


async def opened(lab: Lab, pilot: Pilot[Any], key: str = "n") -> ConsoleApp:
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    await ready(app, pilot)
    await type_keys(app, key)
    assert isinstance(app.screen, LaunchScreen)
    return app


BAD = {
    "kl": "-1", "steps": "2.5", "lr": "0", "batch": "0", "samples": "1", "temperature": "nan",
    "save_every": "x", "weights": "duna=1", "families": "anvil,none", "seeds": "3-1",
    "set": "kl_cof=1",
}  # fmt: skip


@pytest.mark.parametrize("option", BAD)
def test_a_wrong_text_is_known_before_anything_is_read(option: str) -> None:
    assert list(Draft(typed={option: BAD[option]}).mistakes()) == [option]


def test_the_form_is_the_command_line() -> None:
    draft = Draft("base", {"kl": "0.1,0.2", "set": "log_every=1 max_grad_norm=2", "name": "a b"})
    words = shlex.split(draft.line())
    assert words[:3] == ["rlhf-tui", "clone", "base"] and "--set=max_grad_norm=2" in words
    assert axes_of(draft.options()) == {
        "log_every": [1],
        "max_grad_norm": [2],
        "kl_coef": [0.1, 0.2],
    }


def test_a_runs_settings_come_back_as_they_were(tmp_path: Path) -> None:
    config = {
        "kl_coef": 0.30000000000000004 / 3, "family_weights": {"anvil": 1.0, "ember": 0.25},
        "reward_model": f"{tmp_path}/reward_model", "steps": 12, "seed": 3,
    }  # fmt: skip
    texts = base_texts(resolve(config), tmp_path)
    assert "rm" not in texts and texts["steps"] == "12"
    axes = axes_of(Draft(typed=texts).options())
    weights = axes["family_weights"][0]
    assert {f: w for f, w in weights.items() if w} == config["family_weights"]
    assert set(weights) == set(FAMILIES) and axes["seed"] == [3]


@pytest.mark.parametrize("key", list(DEFAULTS))
@pytest.mark.parametrize("value", [HOSTILE, [], {"a": "b"}, {"anvil": HOSTILE}, 1e999, "\0"])
def test_hostile_config_values_fill_in_nothing_that_steers(
    key: str, value: Any, tmp_path: Path
) -> None:
    for text in base_texts({key: value}, tmp_path).values():
        assert text.isprintable()


@pytest.mark.parametrize("kind", ["fifo", "folder", "missing", "device", "binary", "hostile"])
def test_any_wrapper_source_is_shown_or_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "w.py"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "binary":
        path.write_bytes(bytes(range(256)) * 4000)
    elif kind == "hostile":
        path.write_text(HOSTILE)
    lines = source_lines(path)
    assert lines and all(line.isprintable() for line in lines)
    assert lines[0].startswith("cannot be read") == (
        kind in ("fifo", "folder", "missing", "device")
    )


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("--kl: 'x' is not a number", "kl"),
        ("kl_coef must be at least 0, found -1", "kl"),
        ("reward_wrapper: /a/b is missing", "wrapper"),
        ("wrapper /a/b defines no transform()", "wrapper"),
        ("policy_init: /a is missing", "init"),
    ],
)
def test_a_refusal_names_its_field(message: str, field: str) -> None:
    assert field_of(message) == field


@pytest.mark.usefixtures("toys")
async def test_a_launch_refused_by_the_validator_leaves_the_form(lab: Lab, tmp_path: Path) -> None:
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(lab, pilot)
        fill(app, kl="0.5", wrapper=str(tmp_path / "none.py"))
        await until(pilot, lambda: marked(app) == ["wrapper"])
        await type_keys(app, "ctrl+s")
        await until(pilot, lambda: app.focused and app.focused.id == "launch-wrapper")
        assert isinstance(app.screen, LaunchScreen) and marked(app) == ["wrapper"]
        assert app.screen.query_one("#launch-kl", Input).value == "0.5"
        await until(pilot, lambda: "missing" in said(app))
    assert not lab.workspace.runs.exists() or not list(lab.workspace.runs.iterdir())


@pytest.mark.usefixtures("toys")
async def test_a_full_disk_is_named_and_the_form_stays(lab: Lab, tmp_path: Path) -> None:
    lab.workspace.root.parent.mkdir(exist_ok=True)
    lab.workspace.root.write_text("no folder: nothing can be written under it")
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(lab, pilot)
        fill(app, steps="7")
        await until(pilot, lambda: all(x in said(app) for x in ("--steps=7", "1 run on")))
        await type_keys(app, "ctrl+s")
        await until(pilot, lambda: "cannot write" in said(app))
        assert app.screen.query_one("#launch-steps", Input).value == "7"
        form = app.screen
        assert isinstance(form, LaunchScreen)
        form.on_previewed(Previewed(form._number, Preview(1)))
        form.on_input_changed(Input.Changed(form.query_one("#launch-steps", Input), "7"))
        assert "cannot write" in said(app), "a check that comes late hides the refusal"
        fill(app, steps="8")
        await until(pilot, lambda: "1 run on" in said(app))


@pytest.mark.usefixtures("toys")
async def test_what_was_typed_outlives_esc(lab: Lab) -> None:
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(lab, pilot)
        fill(app, steps="7")
        await until(pilot, lambda: "--steps=7" in said(app))
        await type_keys(app, "escape")
        await opened(lab, pilot)
        assert app.screen.query_one("#launch-steps", Input).value == "7"


@pytest.mark.usefixtures("toys")
async def test_the_list_changes_below_while_a_person_types(lab: Lab) -> None:
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(lab, pilot)
        await type_keys(app, "0", ".")
        lab.launch("other", steps=3)
        await until(pilot, lambda: "other" in app.state.runs)
        await type_keys(app, "4")
        assert app.focused.value == "0.4"  # type: ignore[union-attr]


FAILS = "calls = []\ndef transform(records, tokens, rewards):\n    calls.append(1)\n"
FAILS += "    if len(calls) == 3: raise ValueError('third')\n    return rewards\n"


async def test_a_wrapper_that_fails_at_step_3(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real trainer: the run ends failed, and the list says why."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "w.py").write_text(FAILS)
    app = ConsoleApp(Place(lab.workspace.root, shipped_task(), (), False), "dark")
    async with app.run_test(size=(160, 50)) as pilot:
        await opened(lab, pilot)
        fill(app, steps="6", name="w", wrapper=str(tmp_path / "w.py"))
        await until(pilot, lambda: "1 run on" in said(app))
        await type_keys(app, "ctrl+s")
        await until(pilot, lambda: "w" in app.state.runs)
        state = await asyncio.to_thread(lab.until, "w", "failed", seconds=60)
        await until(pilot, lambda: app.state.runs["w"]["state"] == "failed")
        assert "third" in str(state.reason) and app.state.runs["w"]["reason"] == state.reason


@pytest.mark.parametrize("key", ["n", "N", "X", "r", "R", "D", "U", "t"])
async def test_read_only_refuses_every_action(lab: Lab, key: str) -> None:
    lab.launch("run", steps=3)
    lab.until("run", "finished")
    app = ConsoleApp(place_of(lab, read_only=True), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await type_keys(app, key)
        await until(pilot, lambda: "--read-only" in screen_text(app))
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.usefixtures("toys")
async def test_hostile_names_in_every_dialog(lab: Lab, size: tuple[int, int]) -> None:
    (run,) = lab.launch(HOSTILE, steps=3)
    lab.until(run, "finished")
    record = load(lab.folder(run))
    assert record is not None
    write_json(
        lab.folder(run) / "run_config.json",
        {**record["config"], "init": HOSTILE, "family_weights": {"anvil": HOSTILE}},
    )
    app = ConsoleApp(place_of(lab), "dark")
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        app.pane.table.go_to(run)  # type: ignore[attr-defined]
        for key in ("n", "N", "t", "D"):
            await type_keys(app, key)
            assert len(app.screen_stack) == 2, key
            await pilot.pause(0.3)
            await type_keys(app, "down", "up", "escape")
            assert len(app.screen_stack) == 1, key
