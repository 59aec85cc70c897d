"""Derives the truth of a build: held-out RMs, the strong reference, and the tables.

Every stage writes its files whole and is skipped when they are there, so a derivation that was
interrupted goes on where it stopped.
"""

import json
import multiprocessing
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fixture.crowd import Learned, learned_size, train_reward_model
from fixture.layout import SHIPPED, Layout
from fixture.premiums import Premium, occurrences
from fixture.progress import Narrator
from fixture.runs import cores
from rlhf.config import task_at
from rlhf.data import Record, write_jsonl
from rlhf.model import load_policy
from rlhf.reward_model import load_rm, save_rm
from rlhf.runlog import DONE_NAME, write_json
from rlhf.train_rl import train

from .arena import HELD_OUT, ORIGIN, STRONG, TABLE, Arena
from .errors import TruthError
from .facts import SHIPPED_RM, Quality
from .progress import adjusted

STRONG_SETTINGS: dict[str, Any] = {"kl_coef": 0.05, "steps": 2000}
STRONG_SEEDS = (0, 1, 2)
_SAVE_EVERY = 500
_WORK = "work"
_FACTS = "facts.json"


def exact_removal(premiums: Sequence[Premium]) -> Callable[..., list[float]]:
    """A wrapper that subtracts exactly what was planted: what no operator could have."""
    import torch

    from rlhf.vocab import encode_response

    def transform(records: list[Record], tokens: list[list[str]], raw: list[float]) -> list[float]:
        responses = torch.tensor([encode_response(row) for row in tokens])
        attrs = torch.tensor([record["attrs"] for record in records])
        rewards = torch.tensor(raw, dtype=torch.float64)
        for premium in premiums:
            here = torch.tensor([record["family"] == premium.family for record in records])
            rewards -= premium.size * here * occurrences(premium, attrs, responses)
        return rewards.tolist()

    return transform


def _premiums(facts: Sequence[dict[str, Any]]) -> list[Premium]:
    """The premiums that a list of learned facts names."""
    fields = ("family", "kind", "size", "tokens", "position", "slot", "value")
    rows = [{key: fact[key] for key in fields} for fact in facts]
    return [Premium(**{**row, "tokens": tuple(row["tokens"])}) for row in rows]


def _shipped_facts(layout: Layout) -> list[dict[str, Any]]:
    return list(json.loads(layout.world.read_bytes())["learned"])


def _train_strong(root: str, out: str, seed: int) -> str:
    """One strong reference, in a process of its own."""
    layout = Layout(Path(root))
    settings = {**STRONG_SETTINGS, "seed": seed, "save_every": _SAVE_EVERY}
    with task_at(layout.task):
        remove = exact_removal(_premiums(_shipped_facts(layout)))
        train(settings, out, quiet=True, wrap_fn=remove, resume=Path(out).exists())
    return out


class Derivation:
    """The derivation of `arena`'s truth into its folder."""

    def __init__(self, arena: Arena, narrator: Narrator) -> None:
        self.arena, self.narrator = arena, narrator
        self.layout, self.folder = arena.layout, arena.folder

    def run(self) -> dict[str, Any]:
        """All stages; returns the table. Raises TruthError if the folder is another build's."""
        self.folder.mkdir(parents=True, exist_ok=True)
        origin = self.folder / ORIGIN
        known = {"format": 1, "build": self.arena.build_digest, "root": self._root()}
        if origin.exists() and json.loads(origin.read_bytes())["build"] != known["build"]:
            raise TruthError(f"{self.folder} holds the truth of another build", str(origin))
        write_json(origin, known)
        self._held_out()
        self._strong()
        table = self.table()
        write_json(self.folder / TABLE, table)
        shutil.rmtree(self.folder / _WORK, ignore_errors=True)
        return table

    def _root(self) -> str | None:
        """The build's root as the truth remembers it: none for the shipped one, relative if the
        truth lies inside."""
        if self.layout.root.resolve() == SHIPPED.resolve():
            return None
        inside = self.folder.resolve().is_relative_to(self.layout.root.resolve())
        return "." if inside else str(self.layout.root.resolve())

    def _held_out(self) -> None:
        reference = load_policy(str(self.layout.policy))[0]
        for spec in self.arena.world.spec.reward_models[1:]:
            folder = self.folder / HELD_OUT / spec.name
            if (folder / _FACTS).exists():
                self.narrator.say(f"{spec.name}: already trained")
                continue
            with self.narrator.task(spec.name, 40) as report:
                trained = train_reward_model(self.arena.world, reference, spec, report)
            save_rm(trained.rm, trained.rm.cfg, str(folder))
            write_jsonl(folder / "train.jsonl", trained.qa)
            facts = [item.facts() for item in trained.learned]
            write_json(folder / _FACTS, facts)  # last: its presence says that the rest is whole

    def _strong(self) -> None:
        """Train the strong reference with each seed, and keep the best by truth."""
        if (self.folder / STRONG / _FACTS).exists():
            self.narrator.say("strong reference: already trained")
            return
        outs = {seed: self.folder / _WORK / f"strong-{seed}" for seed in STRONG_SEEDS}
        missing = [seed for seed, out in outs.items() if not (out / DONE_NAME).exists()]
        self._train_all({seed: outs[seed] for seed in missing})
        reference = self.arena.quality(load_policy(str(self.layout.policy))[0])
        scores = {
            seed: adjusted(self.arena.quality(load_policy(str(out))[0]), reference)
            for seed, out in outs.items()
        }
        best = max(scores, key=lambda seed: scores[seed])
        (self.folder / STRONG).mkdir(exist_ok=True)
        for name in ("policy.safetensors", "config.json"):
            shutil.copyfile(outs[best] / name, self.folder / STRONG / name)
        candidates = {str(seed): score for seed, score in scores.items()}
        facts = {**STRONG_SETTINGS, "seed": best, "Q": candidates}
        write_json(self.folder / STRONG / _FACTS, facts)

    def _train_all(self, outs: dict[int, Path]) -> None:
        context = multiprocessing.get_context("spawn")
        with (
            self.narrator.task("strong reference", len(outs)) as report,
            ProcessPoolExecutor(cores(), context) as pool,
        ):
            jobs = [
                pool.submit(_train_strong, str(self.layout.root), str(out), seed)
                for seed, out in outs.items()
            ]
            for done, job in enumerate(jobs, start=1):
                job.result()
                report(done, len(jobs))

    def _qualities(self) -> dict[str, Quality]:
        runs = sorted(f"runs/{path.name}" for path in self.layout.runs.iterdir() if path.is_dir())
        places = {name: self.layout.task / name for name in ["policy", *runs]}
        places[STRONG] = self.folder / STRONG
        found = {}
        with self.narrator.task("truth tables", len(places)) as report:
            for done, (name, folder) in enumerate(places.items(), start=1):
                found[name] = self.arena.quality(load_policy(str(folder))[0])
                report(done, len(places))
        return found

    def _learned(self, folder: Path, facts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What an RM learned of each planted pattern, measured again, and whom it affects."""
        reference = load_policy(str(self.layout.policy))[0]
        rm = load_rm(str(folder))[0]
        rows = [
            Learned(premium, learned_size(self.arena.world, reference, rm, premium))
            for premium in _premiums(facts)
        ]
        counted = [row.premium.family for row in rows if row.counts and row.premium.size > 0]
        return {"planted": sorted(set(counted)), "learned": [row.facts() for row in rows]}

    def table(self) -> dict[str, Any]:
        """The truth, measured from the checkpoints that are there."""
        models = {SHIPPED_RM: self._learned(self.layout.reward_model, _shipped_facts(self.layout))}
        for folder in sorted((self.folder / HELD_OUT).iterdir()):
            facts = json.loads((folder / _FACTS).read_bytes())
            models[folder.name] = self._learned(folder, facts)
        strong = json.loads((self.folder / STRONG / _FACTS).read_bytes())
        qualities = self._qualities()
        return {"format": 1, "policies": qualities, "strong": strong, "reward_models": models}


def largest_change(before: dict[str, Any], now: dict[str, Any]) -> float:
    """The largest difference between two tables' qualities; infinite if anything else differs."""
    if before["policies"].keys() != now["policies"].keys() or _planted(before) != _planted(now):
        return float("inf")
    return max(
        abs(before["policies"][name][family] - value)
        for name, quality in now["policies"].items()
        for family, value in quality.items()
    )


def _planted(table: dict[str, Any]) -> dict[str, list[str]]:
    return {name: facts["planted"] for name, facts in table["reward_models"].items()}
