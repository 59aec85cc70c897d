"""The options that `launch` and `clone` share, and how their words become settings."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from rlhf.config import ConfigError, parse_override
from rlhf.vocab import FAMILIES, nearest

from .acting import Once
from .exits import CommandError, Exit

# option: (setting, kind of number, help); comma lists of these make a sweep
AXES: dict[str, tuple[str, type, str]] = {
    "kl": ("kl_coef", float, "KL coefficient, per nat."),
    "steps": ("steps", int, "Updates."),
    "lr": ("lr", float, "Adam's learning rate."),
    "batch": ("batch_prompts", int, "Prompts a step."),
    "samples": ("samples_per_prompt", int, "Responses a prompt."),
    "temperature": ("temperature", float, "Of sampling."),
    "save_every": ("save_every", int, "Steps between checkpoints, 0 = none."),
}
PATHS = {  # option: (setting, help)
    "wrapper": ("reward_wrapper", "Python file with transform(); runs with your rights."),
    "init": ("policy_init", "Policy to start from: folder or run."),
    "rm": ("reward_model", "Folder of the reward model."),
    "prompts": ("prompt_file", "Prompts, JSONL."),
}
OTHERS = {  # option: (how it is written, help)
    "weights": ("dune=0,ember=.5", "Weights of prompt families."),
    "families": ("a,b", "Only these families, equally."),
    "seeds": ("A-B", "Several: 0-2 is 0,1,2."),
    "set": ("KEY=JSON", "Any setting."),
    "name": ("TEXT", "The id is made from it."),
}
MOST_VALUES = 1000  # of one setting: more would be more runs than a sweep may have

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them, on a click command."""
    for decorate in reversed([*_axes(), *_paths(), *_others()]):
        command = decorate(command)
    return command


def _axes() -> Iterable[Decorator]:
    for option, (_, _, text) in AXES.items():
        name = f"--{option.replace('_', '-')}"
        yield click.option(name, cls=Once, metavar="X[,X...]", help=text)


def _paths() -> Iterable[Decorator]:
    for option, (_, text) in PATHS.items():
        yield click.option(f"--{option}", cls=Once, metavar="PATH", help=text)


def _others() -> list[Decorator]:
    return [
        *(_other(name) for name in OTHERS),
        click.option("--seed", cls=Once, metavar="N[,N...]", help="Seed."),
        click.option("--dry-run", is_flag=True, help="Say what would run; start nothing."),
        click.option("--wait", is_flag=True, help="Wait for the end; exit 1 unless all finish."),
        click.option("--follow", is_flag=True, help="Show the output meanwhile; implies --wait."),
    ]


def _other(name: str) -> Decorator:
    written, text = OTHERS[name]
    if name == "set":
        return click.option("--set", "settings", metavar=written, multiple=True, help=text)
    return click.option(f"--{name}", cls=Once, metavar=written, help=text)


def axes_of(options: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Settings by key, each with one value or, for a sweep, several. Raises CommandError."""
    axes: dict[str, list[Any]] = {}
    for text in options["settings"]:
        key, value = _override(text)
        axes[key] = [value]
    for option, (key, kind, _) in AXES.items():
        if options[option] is not None:
            axes[key] = _numbers(option, options[option], kind)
    for option, (key, _) in PATHS.items():
        if options[option] is not None:
            axes[key] = [options[option]]
    return axes | _weights(options) | _seeds(options)


def _override(text: str) -> tuple[str, Any]:
    try:
        return parse_override(text)
    except ConfigError as error:
        raise CommandError(Exit.USAGE, f"--set: {error}") from None


def _numbers(option: str, text: str, kind: type) -> list[Any]:
    values = []
    if text.count(",") >= MOST_VALUES:
        raise CommandError(Exit.USAGE, f"--{option}: more than {MOST_VALUES} values")
    for word in text.split(","):
        try:
            values.append(kind(word))
        except ValueError:
            what = "an integer" if kind is int else "a number"
            raise CommandError(Exit.USAGE, f"--{option}: {word!r:.40} is not {what}") from None
    return list(dict.fromkeys(values))


def _weights(options: Mapping[str, Any]) -> dict[str, list[Any]]:
    if options["weights"] is not None and options["families"] is not None:
        raise CommandError(Exit.USAGE, "--weights and --families are two ways to say one thing")
    if options["families"] is not None:
        names = [word.strip() for word in options["families"].split(",")]
        return {"family_weights": [{_family(name): 1.0 for name in names}]}
    if options["weights"] is None:
        return {}
    given = dict(_weight(word) for word in options["weights"].split(","))
    return {"family_weights": [dict.fromkeys(FAMILIES, 1.0) | given]}


def _weight(word: str) -> tuple[str, float]:
    name, equals, value = word.partition("=")
    try:
        return _family(name.strip()), float(value)
    except ValueError:
        message = f"--weights: {word!r:.40} is not family=number"
        raise CommandError(Exit.USAGE, message) from None


def _family(name: str) -> str:
    if name not in FAMILIES:
        raise CommandError(Exit.USAGE, f"unknown family {name!r:.40}{nearest(name, FAMILIES)}")
    return name


def _seeds(options: Mapping[str, Any]) -> dict[str, list[Any]]:
    if options["seed"] is not None and options["seeds"] is not None:
        raise CommandError(Exit.USAGE, "--seed and --seeds are two ways to say one thing")
    text = options["seed"] if options["seeds"] is None else options["seeds"]
    if text is None:
        return {}
    seeds: dict[int, None] = {}
    for word in text.split(","):
        first, dash, last = word.partition("-")
        low = _numbers("seeds", first, int)[0]
        high = _numbers("seeds", last, int)[0] if dash else low
        if high < low:
            raise CommandError(Exit.USAGE, f"--seeds: {word!r:.40} is no range")
        if high - low >= MOST_VALUES:
            said = f"--seeds: {word!r:.40} is more than {MOST_VALUES} seeds"
            raise CommandError(Exit.USAGE, said, fix=f"at most {MOST_VALUES} are allowed")
        seeds |= dict.fromkeys(range(low, high + 1))
        if len(seeds) > MOST_VALUES:
            raise CommandError(Exit.USAGE, f"--seeds: more than {MOST_VALUES} values")
    return {"seed": list(seeds)}
