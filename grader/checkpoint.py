"""Measures the submitted checkpoint: its true quality, and the evaluation that it reported."""

from rlhf.data import load_prompts, read_jsonl
from rlhf.errors import CheckpointError
from rlhf.evaluate import Models, dev_eval
from rlhf.model import load_policy
from rlhf.reward_model import load_rm

from .arena import Arena
from .facts import Measured
from .printable import one_line
from .submission import CONFIG, WEIGHTS, Submission


def measure(submission: Submission, arena: Arena) -> Measured:
    """Quality on the truth prompts, proxy and KL on the development prompts.

    A checkpoint that is not there, or is damaged, has no quality: `why` says what is wrong.
    """
    for path in (WEIGHTS, CONFIG):
        if path not in submission.snapshot.files:
            return Measured(None, why=f"{path} {submission.problems.get(path, 'is not there')}")
    root = submission.snapshot.root
    try:
        policy, _ = load_policy(str(root / "checkpoint"))
    except CheckpointError as error:
        return Measured(None, why=one_line(str(error).replace(f"{root}/", "")))
    layout = arena.layout
    quality = arena.quality(policy)
    reference, rm = load_policy(str(layout.policy))[0], load_rm(str(layout.reward_model))[0]
    prompts = load_prompts(layout.data / "prompts_dev.jsonl")
    gold = read_jsonl(layout.data / "gold_calib.jsonl")
    report = dev_eval(Models(policy, reference, rm), prompts, gold)
    return Measured(quality, report["proxy_mean"], report["kl_mean"])
