"""KL-regularised REINFORCE against a learned reward model.

    python -m rlhf.train_rl --config FILE --out DIR [--override key=json_value ...] [--quiet]

OUT receives run_config.json (the resolved settings), log.jsonl, policy.safetensors, config.json,
with save_every also checkpoints/step-000400/, and, as the last act, done.json.
"""

import argparse
import contextlib
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import cli, runfolder
from .config import DEFAULTS, RLConfig, parse_override, resolve, task_path
from .errors import (
    CheckpointError,
    ConfigError,
    DataError,
    StoppedError,
    TrainingError,
    WrapperError,
)
from .inputs import Inputs, load_inputs, step_generator
from .kernels import prepare_process
from .metrics import Window
from .model import Policy, response_logprobs, sample, save_policy
from .reinforce import group_advantage, policy_loss, sequence_kl, shaped_reward
from .reward_model import score
from .runfolder import State
from .runlog import DONE_NAME, LOG_NAME, append_row
from .wrapper import WrapFn, wrap

__all__ = ["DEFAULTS", "resolve", "train", "main"]


@torch.inference_mode(False)
@torch.enable_grad()  # whatever context the caller is in
def train(
    cfg: Mapping[str, Any],
    out_dir: str | Path,
    quiet: bool = False,
    wrap_fn: WrapFn | None = None,
    resume: bool = False,
    should_stop: Callable[[], str | None] = lambda: None,
) -> Policy:
    """Train a policy under the settings `cfg` (any subset; see RLConfig) and keep it in out_dir.

    `wrap_fn` has a wrapper's signature and wins over cfg's reward_wrapper. With `resume` the run
    goes on from its last complete checkpoint, to the same bytes as if it had never stopped;
    without, whatever run out_dir held is replaced. `should_stop` is asked between steps and
    answers with who wants it.

    Raises ConfigError, DataError, CheckpointError or WrapperError before anything is written;
    WrapperError, TrainingError or StoppedError later, when a checkpoint of the last good step has
    been kept and done.json says why.
    """
    prepare_process()
    config, out = RLConfig(**resolve(cfg)), Path(out_dir)
    inputs = load_inputs(config, wrap_fn)
    optimiser = torch.optim.Adam(inputs.policy.parameters(), config.lr, fused=True)
    state = State(inputs.policy, optimiser)
    if resume:
        runfolder.resume(out, config, state)
    else:
        runfolder.begin(out, config)
    try:
        optimise(config, inputs, state, out, should_stop, quiet)
        save_policy(state.policy, state.policy.cfg, str(out))
    except BaseException as error:
        _close_unfinished(out, state, error)
        raise
    runfolder.close(out, state, "finished", None, "the run")
    return state.policy.eval()


def optimise(
    config: RLConfig,
    inputs: Inputs,
    state: State,
    out: Path,
    should_stop: Callable[[], str | None],
    quiet: bool,
) -> None:
    """The training loop, from state.step to config.steps."""
    policy, reference, rm, pool, wrap_fn, wrapper_name = inputs
    n, began = config.samples_per_prompt, time.monotonic() - state.elapsed_s
    while state.step < config.steps:
        if who := should_stop():
            raise StoppedError(f"stopped by {who} after step {state.step}")
        step, generator = state.step + 1, step_generator(config.seed, state.step + 1)

        # 1. draw prompts by family weight, n responses to each
        drawn = pool.draw(config.batch_prompts, generator)
        responses = sample(policy, pool.prompts[drawn], n, config.temperature, generator)
        rows = drawn.repeat_interleave(n)
        prompts_rep = pool.prompts[rows]

        # 2. reward: the reward model's, then the wrapper's
        raw = rewards = score(rm, prompts_rep, responses)
        if wrap_fn is not None:
            records = [pool.records[row] for row in rows.tolist()]
            rewards = wrap(wrap_fn, wrapper_name, step, records, responses, raw)

        # 3. KL to the reference, on the policy's own samples
        with torch.no_grad():
            ref_logp = response_logprobs(reference, prompts_rep, responses)
        logp, entropy = response_logprobs(policy, prompts_rep, responses, with_entropy=True)
        kl = sequence_kl(logp.detach(), ref_logp)

        # 4. REINFORCE with the group's mean as baseline
        shaped = shaped_reward(rewards, kl, config.kl_coef)
        loss = policy_loss(group_advantage(shaped, n), logp)
        update(state, loss, config.max_grad_norm)

        # 5. record
        state.step, state.elapsed_s = step, time.monotonic() - began
        state.window.add(
            pool.families[rows],
            proxy_reward=raw, kl=kl, shaped_reward=shaped, entropy=entropy, loss=loss.detach(),
        )  # fmt: skip
        if step % config.log_every == 0:
            _log(out, state, config.steps, quiet)
            state.window = Window()
        state.whole = True
        if config.save_every and step % config.save_every == 0:
            runfolder.save_state(out, state)
    if state.step % config.log_every:
        _log(out, state, config.steps, quiet)


def update(state: State, loss: Tensor, max_grad_norm: float) -> None:
    """One Adam step on `loss`, gradient norm clipped. Raises TrainingError before a bad step."""
    state.optimiser.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(state.policy.parameters(), max_grad_norm)
    if not math.isfinite(norm):
        raise TrainingError(f"step {state.step + 1}: the gradient is {norm:.0f}; lower lr")
    state.whole = False
    state.optimiser.step()


def _log(out: Path, state: State, steps: int, quiet: bool) -> None:
    row = {"step": state.step, **state.window.row(), "elapsed_s": round(state.elapsed_s, 3)}
    append_row(out / LOG_NAME, row)
    if not quiet:
        cli.narrate(
            f"step {state.step}/{steps}  proxy {row['proxy_reward']:.3f}  kl {row['kl']:.3f} nats"
            f"  entropy {row['entropy']:.3f}  {state.elapsed_s:.1f} s"
        )


def _close_unfinished(out: Path, state: State, error: BaseException) -> None:
    """Keep the last good step and say how the run ended; a full disk must not hide the error.

    A step that Ctrl-C or a full disk cut in two is not kept: resuming does it again.
    """
    stopped = isinstance(error, StoppedError | KeyboardInterrupt)
    outcome, by = ("stopped", "operator") if stopped else ("failed", "the run")
    reason = str(error) or type(error).__name__
    with contextlib.suppress(OSError):
        if state.step and state.whole:
            runfolder.save_state(out, state)
    with contextlib.suppress(OSError):
        runfolder.close(out, state, outcome, reason, by)


class StopRequest:
    """Turns the first SIGTERM, SIGHUP or SIGINT into a wish that the loop asks about."""

    SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN  # nohup: the run outlives us
        for number in self.SIGNALS:
            if number != signal.SIGHUP or not ignored:
                signal.signal(number, self._receive)

    def _receive(self, number: int, frame: object) -> None:
        self.received = signal.Signals(number)
        signal.signal(number, signal.SIG_DFL)

    def __call__(self) -> str | None:
        return self.received.name if self.received else None


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    path = task_path(args.config)
    try:
        cfg = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(cfg, dict):
        raise ConfigError(f"{path} must hold a JSON object of settings")
    return resolve({**cfg, **dict(map(parse_override, args.override))})


def _run(args: argparse.Namespace) -> cli.Exit:
    out = Path(args.out)
    cfg = _settings(args)
    if not args.resume and runfolder.holds_run(out):
        raise ConfigError(f"{out} already holds a run: add --resume, or choose another --out")
    stop = StopRequest()
    try:
        train(cfg, out, args.quiet, resume=args.resume, should_stop=stop)
    except StoppedError as error:
        cli.narrate(str(error))
        return cli.Exit.INTERRUPTED if stop.received == signal.SIGINT else cli.Exit.TERMINATED
    except (CheckpointError, DataError, WrapperError) as error:
        if out.is_dir() and not (out / DONE_NAME).exists():  # a launched run that could not begin
            runfolder.refuse(out, str(error))
        raise
    return cli.Exit.OK


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rlhf.train_rl", description=__doc__)
    parser.add_argument("--config", required=True, help="JSON file of settings")
    parser.add_argument("--out", required=True, help="folder of the run")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=JSON_VALUE")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--quiet", action="store_true", help="no line per log row")
    args = parser.parse_args(argv)
    return cli.run(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
