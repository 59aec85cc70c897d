"""The one place that knows where things lie: workspace, caches, the shipped task."""

import hashlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

RUN_RECORD = "run.json"
GRADE_RECORD = "grade.json"
OUTPUT_LOG = "output.log"
EVAL_DIR = "eval"


def _user_dir(variable: str, mac: str, home: str) -> Path:
    """A per-user folder of the platform: XDG's on Linux, ~/Library's on macOS."""
    if os.environ.get(variable):
        return Path(os.environ[variable]) / "rlhf-tui"
    return Path.home() / (mac if sys.platform == "darwin" else home) / "rlhf-tui"


def default_workspace() -> Path:
    """RLHF_TUI_WORKSPACE, else the per-user data folder."""
    named = os.environ.get("RLHF_TUI_WORKSPACE")
    if named:
        return Path(named)
    return _user_dir("XDG_DATA_HOME", "Library/Application Support", ".local/share")


def shipped_task() -> Path:
    """The built task folder that comes with the package (found without importing it)."""
    spec = importlib.util.find_spec("fixture")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package 'fixture' is not installed: reinstall rlhf-tui")
    return Path(next(iter(spec.submodule_search_locations))) / "task"


def shipped_wrappers() -> Path:
    """The reward wrappers that come with the package."""
    return shipped_task().parent / "wrappers"


@dataclass(frozen=True)
class Workspace:
    """The folders of one workspace. Creates nothing."""

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def grades(self) -> Path:
        return self.root / "grades"

    @property
    def submissions(self) -> Path:
        """Submission folders that this workspace made, or that were put here."""
        return self.root / "submissions"

    @property
    def graded_folders(self) -> Path:
        """A JSON list of the submission folders elsewhere that are shown here."""
        return self.root / "submissions.json"

    @property
    def meta(self) -> Path:
        return self.root / "meta"

    @property
    def queue(self) -> Path:
        return self.root / "queue"

    def entry(self, identifier: str) -> Path:
        """The queue's entry of a run or job."""
        return self.queue / f"{identifier}.json"

    @property
    def wrappers(self) -> Path:
        """Reward wrappers that the person keeps here."""
        return self.root / "wrappers"

    @property
    def trash(self) -> Path:
        return self.root / "trash"

    @property
    def added(self) -> Path:
        """A JSON list of the folders trained elsewhere that are shown here, in place."""
        return self.root / "added.json"

    @property
    def view(self) -> Path:
        """How the person wants the dashboard: columns and look."""
        return self.root / "view.json"

    @property
    def lock(self) -> Path:
        return self.root / "supervisor.lock"

    @property
    def cache(self) -> Path:
        """This workspace's own corner of the user's cache; may be deleted at any time."""
        key = hashlib.sha256(str(self.root.resolve()).encode()).hexdigest()[:16]
        return _user_dir("XDG_CACHE_HOME", "Library/Caches", ".cache") / key

    @property
    def evaluations(self) -> Path:
        """Evaluations of runs that lie outside the workspace, one file a content hash."""
        return self.cache / EVAL_DIR

    @property
    def scores(self) -> Path:
        """Sampled and scored responses, one file a content hash, each with its receipt."""
        return self.cache / "scores"

    @property
    def tails(self) -> Path:
        """Tail statistics of sets of score files, one file a content hash."""
        return self.cache / "tails"

    @property
    def hashes(self) -> Path:
        """sha256 of files already hashed, valid while their size, time and inode stand."""
        return self.cache / "hashes.json"

    @property
    def listing(self) -> Path:
        """What the last scan of many run folders found, by folder and its signature."""
        return self.cache / "listing.json"

    @property
    def dashboard_log(self) -> Path:
        """What failed in the dashboard's background."""
        return self.cache / "dashboard.log"
