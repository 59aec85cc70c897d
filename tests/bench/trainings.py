"""The two trainings that are compared: ours and the plainest."""

from dataclasses import replace
from pathlib import Path

import plain_step as plain
import torch

from rlhf.config import RLConfig, resolve
from rlhf.inputs import Inputs, load_inputs
from rlhf.runfolder import State
from rlhf.train_rl import optimise

N_STEPS = 20


class Ours:
    """The library's training loop, a few steps at a time."""

    def __init__(self, out: Path) -> None:
        self.config = RLConfig(**resolve({"log_every": 10**9}))
        self.inputs: Inputs = load_inputs(self.config, None)
        adam = torch.optim.Adam(self.inputs.policy.parameters(), self.config.lr, fused=True)
        self.state, self.out = State(self.inputs.policy, adam), out

    def steps(self, count: int = N_STEPS) -> None:
        until = replace(self.config, steps=self.state.step + count)
        optimise(until, self.inputs, self.state, self.out, lambda: None, quiet=True)


class Plain:
    """The same step in its plainest form, on the same weights."""

    def __init__(self, inputs: Inputs) -> None:
        self.policy = plain.PlainTransformer(inputs.policy.state_dict(), 4, causal=True)
        self.reference = plain.PlainTransformer(inputs.reference.state_dict(), 4, causal=True)
        self.rm = plain.PlainTransformer(inputs.rm.state_dict(), 4, causal=False)
        self.adam = torch.optim.Adam(self.policy.parameters(), 3e-4)
        self.pool, self.generator = inputs.pool, torch.Generator().manual_seed(0)

    def step(self) -> None:
        prompts = self.pool.prompts[self.pool.draw(16, self.generator)]
        plain.step(self.policy, self.reference, self.rm, self.adam, prompts, 8, 0.1, self.generator)
