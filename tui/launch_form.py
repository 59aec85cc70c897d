"""The launch form without its face: fields, what is typed, the command line, the preview."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from rlhf.config import DEFAULTS, TASK_PREFIX, ConfigError, resolve
from rlhf.vocab import FAMILIES

from .exits import CommandError
from .launch_options import AXES, OTHERS, PATHS, axes_of
from .render import clean, mix

SETTINGS = {  # option: its key in a run's config
    **{option: key for option, (key, _, _) in AXES.items()},
    **{option: key for option, (key, _) in PATHS.items()},
    "weights": "family_weights",
    "seeds": "seed",
}
MEANINGS = {
    **{option: text for option, (_, _, text) in AXES.items()},
    **{option: text for option, (_, text) in PATHS.items()},
    **{option: f"{written}  {text}" for option, (written, text) in OTHERS.items()},
    "wrapper": "Python file; runs with your rights.",
}
FIELDS = (
    *("kl", "steps", "lr", "batch", "samples", "temperature", "save_every"),
    *("wrapper", "weights", "families", "seeds", "init", "rm", "prompts", "set", "name"),
)


@dataclass
class Draft:
    """What is typed, by field, and which run it starts from; kept when the form is left."""

    parent: str | None = None
    typed: dict[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        """The command that this form stands for, without `rlhf-tui`."""
        words = ["launch"] if self.parent is None else ["clone", self.parent]
        for option, text in self.given().items():
            name = f"--{option.replace('_', '-')}"
            for part in _split(text) if option == "set" else [text]:
                words += [f"{name}={part}"]
        return words

    def line(self) -> str:
        """The command line as a person would type it."""
        return shlex.join(["rlhf-tui", *self.words()])

    def given(self) -> dict[str, str]:
        """What is not empty."""
        texts = {option: self.typed.get(option, "").strip() for option in FIELDS}
        return {option: text for option, text in texts.items() if text}

    def options(self) -> dict[str, Any]:
        """As the command's options."""
        return _options(self.given())

    def mistakes(self) -> dict[str, str]:
        """What is wrong, by field, as far as the text alone tells."""
        found = {option: _mistake(option, text) for option, text in self.given().items()}
        return {option: wrong for option, wrong in found.items() if wrong}


def _options(texts: Mapping[str, str]) -> dict[str, Any]:
    settings = _split(texts.get("set", ""))
    return {**dict.fromkeys(FIELDS), **texts, "settings": settings, "seed": None}


@lru_cache(maxsize=256)
def _mistake(option: str, text: str) -> str:
    """What is wrong with one field; a field that stands while others change is not judged again."""
    try:
        for key, values in axes_of(_options({option: text})).items():
            for value in values:
                resolve({key: value})
    except (CommandError, ConfigError) as error:
        return clean(str(error))
    return ""


def _split(text: str) -> list[str]:
    """Words, with quotes kept: settings are JSON."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def base_texts(config: Mapping[str, Any], task: Path) -> dict[str, str]:
    """What a run of this config has other than by default, as it would be typed in each field.

    What is no valid setting, or could not be shown as it is, is left out.
    """
    texts: dict[str, str] = {}
    for option, key in SETTINGS.items():
        value = config.get(key)
        if not is_usual(key, value, str(task)) and _is_valid(key, value):
            text = _typed(value)
            texts |= {option: text} if clean(text) == text else {}
    return texts


def is_usual(key: str, value: Any, task: str) -> bool:
    """Whether a setting has its default, for a path as it is in `task`."""
    usual = DEFAULTS[key]
    if isinstance(usual, str) and value == task + usual.removeprefix(TASK_PREFIX):
        return True
    return value is None or bool(value == usual)


def _is_valid(key: str, value: Any) -> bool:
    try:
        resolve({key: value})
    except ConfigError:
        return False
    return True


def _typed(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):  # a family that is not named would get the weight 1
        return ",".join(f"{family}={value.get(family, 0):g}" for family in FAMILIES)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def placeholder(option: str, config: Mapping[str, Any]) -> str:
    """What stands dimmed in an empty field: the value that it then has."""
    key = SETTINGS.get(option)
    if key is None:
        return ""
    value = config.get(key)
    if value is None or not _is_valid(key, value):
        value = DEFAULTS[key]
    if option == "weights":
        return clean(mix(value)) if value else "equal"
    return clean(_typed(value)) or "none"


def field_of(message: str) -> str | None:
    """The field that a refusal speaks of: `--kl: ...`, or `kl_coef ...`."""
    head = message.split(":")[0].removeprefix("--").replace("-", "_").split()
    words = head[:1] + [word.strip("'\"") for word in message.split()[:4]]
    for word in words:
        for option in FIELDS:
            if word.rstrip(":") in (option, SETTINGS.get(option)):
                return option
    return None
