"""What a training run works on: the two policies, the reward model, the prompts, the wrapper."""

import hashlib
from typing import NamedTuple

import torch
from torch import Tensor

from .config import RLConfig
from .data import Record, group_by_family, load_prompts, prompts_tensor
from .errors import ConfigError, WrapperError
from .model import Policy, load_policy
from .reward_model import RewardModel, load_rm
from .vocab import FAMILIES
from .wrapper import WrapFn, load_wrapper


class PromptPool:
    """The prompts of the weighted families, drawn by family weight, then evenly within one.

    Raises ConfigError if a family with a weight has no prompt, or nothing is left to draw.
    """

    def __init__(
        self, records: list[Record], weights: dict[str, float] | None, source: str
    ) -> None:
        present = group_by_family(records)
        weights = weights or dict.fromkeys(present, 1.0)
        for family, weight in weights.items():
            if weight > 0 and family not in present:
                raise ConfigError(
                    f"family_weights: {family!r} weighs {weight:g}, {source} has no prompt of it"
                )
        names = [family for family in FAMILIES if weights.get(family, 0) > 0]
        self.weights = torch.tensor([weights[family] for family in names], dtype=torch.float64)
        self.records = [record for family in names for record in present[family]]
        self.prompts = prompts_tensor(self.records)  # [P, 6]
        self.families = torch.tensor([FAMILIES.index(record["family"]) for record in self.records])
        self.sizes = torch.tensor([len(present[family]) for family in names])
        self.first = self.sizes.cumsum(0) - self.sizes

    def draw(self, B: int, generator: torch.Generator) -> Tensor:
        """Indices [B] of prompts."""
        family = torch.multinomial(self.weights, B, replacement=True, generator=generator)
        within = torch.rand(B, dtype=torch.float64, generator=generator) * self.sizes[family]
        return self.first[family] + within.long()


class Inputs(NamedTuple):
    policy: Policy
    reference: Policy
    rm: RewardModel
    pool: PromptPool
    wrap_fn: WrapFn | None
    wrapper_name: str


def load_inputs(config: RLConfig, wrap_fn: WrapFn | None) -> Inputs:
    """Everything that `config` names, read and checked; `wrap_fn` wins over its reward_wrapper.

    Raises ConfigError, DataError, CheckpointError or WrapperError.
    """
    if wrap_fn is not None and not callable(wrap_fn):
        raise WrapperError(f"wrap_fn is {wrap_fn!r:.60}, not a function")
    policy, _ = load_policy(config.policy_init or config.policy_ref)
    reference, _ = load_policy(config.policy_ref)
    rm, _ = load_rm(config.reward_model)
    records = load_prompts(config.prompt_file)
    given = wrap_fn is not None
    name = getattr(wrap_fn, "__name__", "wrap_fn") if given else config.reward_wrapper or ""
    if wrap_fn is None and config.reward_wrapper:
        wrap_fn = load_wrapper(config.reward_wrapper)
    pool = PromptPool(records, config.family_weights, config.prompt_file)
    for frozen in (reference, rm):
        frozen.requires_grad_(False)
    return Inputs(policy, reference, rm, pool, wrap_fn, name)


def step_generator(seed: int, step: int) -> torch.Generator:
    """The random numbers of one step, from seed and step alone: a run can resume anywhere."""
    digest = hashlib.sha256(f"{seed}/{step}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
