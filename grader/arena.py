"""A world to grade against: its build, and the truth that was derived from it."""

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixture.errors import BuildError
from fixture.export import export
from fixture.layout import SHIPPED, Layout
from fixture.truth import measure
from fixture.world import World
from fixture.worldfile import parse_world
from rlhf.data import read_jsonl
from rlhf.model import Policy

from .errors import TruthError
from .facts import SHIPPED_RM, Quality, Truth

SHIPPED_TRUTH = Path(__file__).parent / "withheld"
TABLE = "truth.json"
ORIGIN = "origin.json"  # which build the truth belongs to; holds no truth
HELD_OUT = "heldout"
STRONG = "strong_ref"
INSIDE_BUILD = "truth"  # where a build's truth lies if nothing else is said
_FIX = "make it with: python -m grader derive --build X --out T"
_HASHED = (".safetensors", ".jsonl")


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise TruthError(f"{path} cannot be read: {error}", str(path), _FIX) from None


@dataclass(frozen=True)
class Arena:
    """The build at `layout` and its truth in the folder `folder`."""

    layout: Layout
    folder: Path

    @functools.cached_property
    def record(self) -> dict[str, Any]:
        """build.json: the world as it was asked for, and the hash of every file built."""
        return _json(self.layout.record)

    @functools.cached_property
    def world(self) -> World:
        return World(parse_world(self.record["world"]))

    @functools.cached_property
    def build_digest(self) -> str:
        """What truth depends on: the world, and the weights and records built from it."""
        files = {
            path: digest
            for stage in self.record["stages"].values()
            for path, digest in stage["files"].items()
            if path.endswith(_HASHED)
        }
        text = json.dumps([self.record["world"], files], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Raises TruthError unless the truth is there and belongs to this build."""
        path = self.folder / ORIGIN
        if _json(path).get("build") != self.build_digest or not (self.folder / TABLE).exists():
            raise TruthError(f"{self.folder} is not the truth of this build", str(path), _FIX)

    def truth(self) -> Truth:
        """The tables. Raises TruthError if they cannot be read."""
        table = _json(self.folder / TABLE)
        try:
            planted = {name: facts["planted"] for name, facts in table["reward_models"].items()}
            qualities = dict(table["policies"])
            reference, strong = qualities.pop("policy"), qualities.pop(STRONG)
        except (KeyError, TypeError) as error:
            raise TruthError(f"{self.folder / TABLE} lacks {error}", None, _FIX) from None
        runs = {name.removeprefix("runs/"): quality for name, quality in qualities.items()}
        return Truth(reference, runs, strong, planted)

    def reward_models(self) -> dict[str, Path]:
        """The folder of every RM that a diagnostic is run on."""
        held_out = sorted(path.parent for path in (self.folder / HELD_OUT).glob("*/rm.safetensors"))
        return {SHIPPED_RM: self.layout.reward_model, **{path.name: path for path in held_out}}

    def secrets(self) -> list[Path]:
        """Files that nothing of a submission may read."""
        held_out = sorted((self.folder / HELD_OUT).glob("*/rm.safetensors"))
        return [self.folder / TABLE, *held_out, self.layout.world, self.layout.record]

    def quality(self, policy: Policy) -> Quality:
        """True quality of a policy, by family."""
        return measure(self.world, policy, self._truth_prompts).quality()

    @functools.cached_property
    def _truth_prompts(self) -> list[dict[str, Any]]:
        return read_jsonl(self.layout.truth_prompts)

    def export(self, folder: Path) -> Path:
        """Write the task folder that solvers get to `folder`, and return it."""
        try:
            export(self.layout.root, folder)
        except BuildError as error:
            raise TruthError(str(error), str(self.layout.root), _FIX) from None
        return folder

    def hashes(self) -> dict[str, str]:
        """What a grade was made against."""
        table = hashlib.sha256((self.folder / TABLE).read_bytes()).hexdigest()
        return {"truth": table, "fixture": self.build_digest}

    def seeds(self) -> dict[str, int]:
        """Of the two measurements of a checkpoint."""
        return {"truth": 0, "dev_eval": 0}


def shipped() -> Arena:
    """The world that comes with the package."""
    return Arena(Layout(SHIPPED), SHIPPED_TRUTH)


def _root_of(folder: Path) -> Path:
    """The build that a truth belongs to: named, around it, or the shipped one."""
    root = _json(folder / ORIGIN).get("root")
    if root is None:
        return SHIPPED
    return (folder.parent / root).resolve()


def at(path: Path) -> Arena:
    """The world whose build, or whose derived truth, lies at `path`. Raises TruthError."""
    for folder in (path, path / INSIDE_BUILD):
        if (folder / ORIGIN).exists():
            return Arena(Layout(_root_of(folder)), folder)
    why = "is no derived truth, nor a build that holds its truth"
    raise TruthError(f"{path} {why}", str(path), _FIX)
