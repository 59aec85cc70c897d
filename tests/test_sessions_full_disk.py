"""A training whose disk fills up: it fails with that reason, which is kept, and goes on."""

import json
import time
from pathlib import Path

import pytest
from full_disk import BALLAST, fill, free, small_disk
from toy_lab import Lab, eventually

from sessions import launch as launching
from sessions.paths import Workspace, shipped_task
from sessions.plan import Request, make_plans
from sessions.resume import resume

pytestmark = pytest.mark.xdist_group("full disk")
STEPS = 14


@pytest.mark.parametrize("how", ["others take all of it", "its own checkpoints fill it"])
def test_a_training_whose_disk_fills_up_fails_with_that_reason_and_goes_on(
    lab: Lab, tmp_path: Path, how: str
) -> None:
    by_itself = how.startswith("its own")
    with small_disk(tmp_path / "disk", 16 << 10) as disk:
        lab.workspace = Workspace(disk / "workspace")
        if by_itself:  # of 12 MB of checkpoints, 5 have room
            (disk / BALLAST).write_bytes(b"\0" * (11 << 20))
        (run,) = _train(lab)
        if not by_itself:
            lab.until(run, "running", seconds=60)
            fill(disk)
            lab.until(run, "lost", "failed")  # what it frees itself may have room for its receipt
            time.sleep(1)  # the supervisor sees it end while nothing can be written
        else:
            lab.until(run, "failed", seconds=60)
        free(disk)  # only now can what was seen of its end be kept
        eventually(lambda: "No space left on device" in (lab.state(run).reason or ""))
        resume(lab.workspace, lab.folder(run))
        lab.until(run, "finished", seconds=60)
        rows = (lab.folder(run) / "log.jsonl").read_text().splitlines()
        assert [json.loads(row)["step"] for row in rows] == list(range(1, STEPS + 1))


def _train(lab: Lab) -> list[str]:
    """A run of the real trainer."""
    axes = {"steps": STEPS, "log_every": 1, "save_every": 1, "batch_prompts": 4}
    axes["samples_per_prompt"] = 2
    plans = make_plans(Request({k: [v] for k, v in axes.items()}, {}, "real"), shipped_task())
    return launching.launch(lab.workspace, shipped_task(), plans, validate=False)
