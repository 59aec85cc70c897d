"""A trainer that writes what the real one writes, in no time and without torch.

Its weights are a hash chain over (seed, step), so that any lost or repeated step shows in them.
TOY_STEP_S is what a step takes; halfway it waits for as long as there is a file TOY_HOLD. Each
start leaves a line `pid start resume` in starts.txt.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from rlhf.runlog import append_row, write_done, write_json
from sessions.identity import own

FAMILIES = ("anvil", "dune")


class Toy:
    def __init__(self, out: Path, config: dict, resume: bool) -> None:
        self.out = out
        self.config = config
        self.began = time.monotonic()
        self.step, self.chain, self.before = 0, f"seed {config['seed']}", 0.0
        self.told = False
        saved = sorted((out / "checkpoints").glob("step-*/state.json")) if resume else []
        if saved:
            state = json.loads(saved[-1].read_text())
            self.step, self.chain, self.before = state["step"], state["chain"], state["elapsed"]
        self.trim_log()

    @property
    def elapsed(self) -> float:
        return self.before + time.monotonic() - self.began

    def trim_log(self) -> None:
        log = self.out / "log.jsonl"
        if log.exists():
            rows = [line for line in log.read_text().splitlines() if _step(line) <= self.step]
            log.write_text("".join(row + "\n" for row in rows))

    def train(self) -> None:
        pause = float(os.environ.get("TOY_STEP_S", "0"))
        while self.step < self.config["steps"]:
            while self.held():
                time.sleep(0.01)
            self.step += 1
            time.sleep(pause)
            self.chain = hashlib.sha256(f"{self.chain}|{self.step}".encode()).hexdigest()
            if self.step % self.config["log_every"] == 0 or self.step == self.config["steps"]:
                self.log()
            save = self.config["save_every"]
            if self.told or (save and self.step % save == 0):
                self.checkpoint()
            if self.told:
                self.end("stopped", "SIGTERM")
                sys.exit(143)
        (self.out / "policy.safetensors").write_text(self.chain)
        write_json(self.out / "config.json", {})
        self.end("finished", None)

    def held(self) -> bool:
        """Whether it may not go on yet, unless it is told to end."""
        halfway = 2 * self.step >= self.config["steps"] and not self.told
        return halfway and os.path.exists(os.environ.get("TOY_HOLD", ""))

    def log(self) -> None:
        value = int(self.chain[:6], 16) / 0xFFFFFF if "seed" not in self.chain else 0.0
        families = {f: {"n": 8, "proxy_reward": value, "kl": value} for f in FAMILIES}
        row = {"step": self.step, "proxy_reward": value, "kl": value, "elapsed_s": self.elapsed}
        append_row(self.out / "log.jsonl", {**row, "families": families})
        print(f"step {self.step}/{self.config['steps']}  proxy {value:.3f}", flush=True)

    def checkpoint(self) -> None:
        final = self.out / "checkpoints" / f"step-{self.step:06d}"
        draft = final.with_name(f".{final.name}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        state = {"step": self.step, "chain": self.chain, "elapsed": self.elapsed}
        write_json(draft / "state.json", state)
        if not final.exists():
            os.rename(draft, final)

    def end(self, outcome: str, reason: str | None) -> None:
        receipt = {"outcome": outcome, "reason": reason, "by": None, "steps": self.step}
        write_done(self.out, {**receipt, "wall_s": self.elapsed, "artifacts": {}})


def _step(line: str) -> int:
    try:
        return json.loads(line)["step"]
    except ValueError:
        return sys.maxsize


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    me = own()
    with open(arguments.out / "starts.txt", "a") as starts:
        starts.write(f"{me.pid} {me.start} {int(arguments.resume)}\n")
    config = json.loads(arguments.config.read_text())
    write_json(arguments.out / "run_config.json", config)
    toy = Toy(arguments.out, config, arguments.resume)
    signal.signal(signal.SIGTERM, lambda number, frame: setattr(toy, "told", True))
    toy.train()


if __name__ == "__main__":
    main()
