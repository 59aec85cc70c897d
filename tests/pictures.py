"""Pictures of the dashboard for the README, drawn from the shipped runs: `make pictures`.

    python tests/pictures.py [--out DIR] [NAME ...]

Each is what the screen shows after its keys, as SVG. Runs, scores and grades are really made, in
a workspace that is thrown away, so it takes a few minutes.
"""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tui.dashboard import tune_textual  # noqa: E402

tune_textual()

from textual.pilot import Pilot  # noqa: E402

from tui.app import ConsoleApp  # noqa: E402
from tui.place import Place  # noqa: E402

SIZE = (118, 34)
WAIT_S = 120.0

Ready = Callable[[ConsoleApp, str], bool]


@dataclass(frozen=True)
class Picture:
    """The keys that lead to a screen, and a text that it shows when it is there."""

    keys: tuple[str, ...]
    shows: str


PICTURES = {
    "runs": Picture(("end", "o", *"balanced.proxy", "enter"), "kl002-s1500"),
    "run": Picture(
        ("slash", *"kl002", "enter", "home", "space", "enter", "v", "v", "v", "v"), "dune"
    ),
}


def screen_text(app: ConsoleApp) -> str:
    """What the screen says."""
    return "\n".join(
        "".join(s.text for s in strip) for strip in app.screen._compositor.render_strips()
    )


async def until(pilot: Pilot[int], app: ConsoleApp, text: str) -> None:
    """Wait for a text on the screen."""
    end = time.monotonic() + WAIT_S
    while text not in screen_text(app):
        if time.monotonic() > end:
            raise SystemExit(f"not seen: {text}\n{screen_text(app)}")
        await pilot.pause(0.1)


async def draw(place: Place, picture: Picture) -> str:
    """The picture as SVG, without fonts from elsewhere."""
    app = ConsoleApp(place, "dark")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, app, "fourfam-s800")
        await pilot.press(*picture.keys)
        await until(pilot, app, picture.shows)
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="rlhf-tui")
        return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "pictures")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        place = Place.of(Path(scratch) / "workspace", None, (), False)
        for name in options.names or PICTURES:
            print(f"drawing {name}", file=sys.stderr, flush=True)
            svg = asyncio.run(draw(place, PICTURES[name]))
            (options.out / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
