"""Driving the dashboard with Textual's pilot: what is waited for, typed and read."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.events import Key
from textual.pilot import Pilot

from sessions.progress import Progress
from tui.app import ConsoleApp
from tui.messages import JobsChanged
from tui.place import Place
from tui.screens.tails import TailsPane

if TYPE_CHECKING:
    from synthetic import Console

DIALOGS = ("i", "o", "c", "question_mark", "colon", "d", "escape")
SIZES = [(80, 24), (40, 10), (1, 1), (160, 50)]


def app_over(console: "Console", look: str = "dark", read_only: bool = True) -> ConsoleApp:
    """The dashboard over the made-up task, not started."""
    return ConsoleApp(Place(console.workspace, console.task, (), read_only), look)


def screen_text(app: App[Any]) -> str:
    """What is on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def until(pilot: Pilot[Any], holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; after so many seconds of the clock it fails with the screen."""
    end = time.monotonic() + seconds
    while True:
        await pilot.pause(0.01)
        if holds():
            return
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds:g} s:\n{screen_text(pilot.app)}")


async def ready(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Wait for the first listing."""
    await until(pilot, lambda: app.state.loaded)


async def curves_of(app: ConsoleApp, pilot: Pilot[Any], key: str) -> None:
    """Wait for a run's curves."""
    await until(pilot, lambda: key in app.state.curves)


async def type_keys(app: ConsoleApp, *keys: str) -> None:
    """Keys, each followed by what is on the screen then: nothing in it may steer a terminal."""
    for key in keys:
        await app._take_key(Key(key, key if len(key) == 1 else None))
        await asyncio.sleep(0)
        if app.screen._layout_required or key in DIALOGS:
            app.screen._refresh_layout()
        text = screen_text(app)
        assert not any(ord(c) < 32 and c != "\n" for c in text)


async def tails_shown(app: ConsoleApp, pilot: Pilot[Any], *files: Path) -> TailsPane:
    """Pane 3 with the tails of these files."""
    await ready(app, pilot)
    await app.action_pane("tails")
    pane = app.pane
    assert isinstance(pane, TailsPane)
    pane.desk.files = files
    pane.update()
    await until(pilot, lambda: pane.desk.found)
    return pane


async def jobs_shown(app: ConsoleApp, pilot: Pilot[Any], jobs: Sequence[Progress]) -> None:
    """Pane 6 with these jobs; no others come."""
    await ready(app, pilot)
    await pilot.press("6")
    app.background.end()
    await until(pilot, lambda: not list(app.workers))
    await pilot.pause()  # what they posted before they ended is handled
    app.on_jobs_changed(JobsChanged(jobs, False))
    await pilot.pause()
