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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tui.dashboard import tune_textual  # noqa: E402

tune_textual()

from piloting import screen_text, until  # noqa: E402

from tui.app import ConsoleApp  # noqa: E402
from tui.performing import perform  # noqa: E402
from tui.place import Place  # noqa: E402

SIZE = (118, 34)
WAIT_S = 120.0


@dataclass(frozen=True)
class Picture:
    """Commands that come first, the keys that lead to a screen, a text that it then shows.

    Among the keys, what holds a space is waited for.
    """

    keys: tuple[str, ...]
    shows: str
    first: tuple[tuple[str, ...], ...] = ()


BEST = ("slash", *"kl002", "enter", "home", "enter")  # opens the run with the best proxy
DUNE = ("v", "v", "v", "v")  # the family, from overall
SCORED = ("tails", "kl002-s1500", "default-s800")
SUBMISSION = (
    ("scaffold", "kl002-s1500", "best-proxy"),
    ("grade", "--no-diagnostic", "{workspace}/submissions/best-proxy"),
)
SWEEP = (("launch", "--kl", "0.05,0.1,0.2", "--steps", "1500", "--name", "sweep"),)

PICTURES = {
    "runs": Picture(("o", *"balanced.proxy", "enter"), "kl002-s1500", (("runs",),)),
    "run": Picture((*BEST, "v", "v", "v", "v", "v", "v", "v"), "fjord proxy"),
    "root-kl": Picture((*BEST, "K", *DUNE), "best of 64"),
    "tails": Picture((*BEST, "3", "L"), "dune", (SCORED,)),
    "samples": Picture((*BEST, *DUNE, "x"), "[pa]", (SCORED,)),
    "probe": Picture((*BEST, *DUNE, "x", "xN  response", "p"), "worst swap", (SCORED,)),
    "grade": Picture(("5", "down", "enter"), "points were lost", SUBMISSION),
    "decide": Picture((*BEST, "d"), "still missing", (("runs",),)),
    "launch": Picture(("down", "n"), "1 run on"),
    "jobs": Picture(("6",), "m left", SWEEP),
    "logs": Picture(("slash", *"sweep", "enter", "home", "4"), "step 40/", SWEEP),
}


def prepare(place: Place, commands: tuple[tuple[str, ...], ...]) -> None:
    """Run the commands that come before a picture; what they say is not shown."""
    for words in commands:
        filled = [word.format(workspace=place.workspace) for word in words]
        outcome = perform(place, filled)
        if outcome.failed:
            raise SystemExit(f"{' '.join(filled)}: {outcome.line()}")


async def draw(place: Place, picture: Picture) -> str:
    """The picture as SVG, without fonts from elsewhere."""
    app = ConsoleApp(place, "dark")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "fourfam-s800" in screen_text(app), WAIT_S)
        for key in picture.keys:
            if " " in key:
                await until(pilot, lambda text=key: text in screen_text(app), WAIT_S)
            else:
                await pilot.press(key)
        await until(pilot, lambda: picture.shows in screen_text(app), WAIT_S)
        await pilot.pause(1.5)
        svg = app.export_screenshot(title="rlhf-tui")
        return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "pictures")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rlhf-tui-", ignore_cleanup_errors=True) as scratch:
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        place = Place.of(Path(scratch) / "workspace", None, (), False)
        for name in options.names or PICTURES:
            print(f"drawing {name}", file=sys.stderr, flush=True)
            prepare(place, PICTURES[name].first)
            svg = asyncio.run(draw(place, PICTURES[name]))
            (options.out / f"{name}.svg").write_text(svg)
        end_runs(place)


def end_runs(place: Place) -> None:
    """Stop what was launched for a picture."""
    jobs = perform(place, ["jobs"]).document.get("jobs") or []
    if jobs:
        perform(place, ["stop", *(job["id"] for job in jobs), "--yes"])


if __name__ == "__main__":
    main()
