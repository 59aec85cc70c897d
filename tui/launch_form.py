"""The launch form without its face: fields, what is typed, the command line, the preview."""

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlhf.config import DEFAULTS, TASK_PREFIX, ConfigError, resolve
from rlhf.vocab import FAMILIES

from .exits import CommandError
from .launch_options import AXES, OTHERS, PATHS, axes_of
from .render import clean, mix

if TYPE_CHECKING:
    from .place import Place

SETTINGS = {  # option: its key in a run's config
    **{option: key for option, (key, _, _) in AXES.items()},
    **{option: key for option, (key, _) in PATHS.items()},
    "weights": "family_weights",
    "seeds": "seed",
}
MEANINGS = {
    **{option: text for option, (_, _, text) in AXES.items()},
    **{option: text for option, (_, text) in PATHS.items()},
    **{option: f"{text} {written}" for option, (written, text) in OTHERS.items()},
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
        given = self.given()
        return self._options(given)

    def _options(self, texts: Mapping[str, str]) -> dict[str, Any]:
        settings = _split(texts.get("set", ""))
        return {**dict.fromkeys(FIELDS), **texts, "settings": settings, "seed": None}

    def mistakes(self) -> dict[str, str]:
        """What is wrong, by field, as far as the text alone tells."""
        found = {}
        for option, text in self.given().items():
            try:
                for key, values in axes_of(self._options({option: text})).items():
                    for value in values:
                        resolve({key: value})
            except (CommandError, ConfigError) as error:
                found[option] = clean(str(error))
        return found


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
        if not _is_usual(key, value, task) and _is_valid(key, value):
            text = _typed(value)
            texts |= {option: text} if clean(text) == text else {}
    return texts


def _is_usual(key: str, value: Any, task: Path) -> bool:
    usual = DEFAULTS[key]
    if isinstance(usual, str) and value == str(task) + usual.removeprefix(TASK_PREFIX):
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


@dataclass(frozen=True)
class Preview:
    """What would run, or what is wrong and in which field."""

    names: tuple[str, ...] = ()
    cores: int = 1
    seconds: float | None = None
    wrapped: bool = False
    field: str | None = None
    wrong: str = ""

    def lines(self) -> Iterator[str]:
        """The preview in words."""
        if self.wrong:
            yield clean(self.wrong)
            return
        count = len(self.names)
        runs = "1 run" if count == 1 else f"{count} runs"
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        rights = "; the wrapper runs with your rights" if self.wrapped else ""
        yield f"{runs} on {cores}, {told(self.seconds)}{rights}"
        yield clean(", ".join(self.names))


def told(seconds: float | None) -> str:
    """A length of time by the measured speed."""
    if seconds is None:
        return "no run here tells how fast"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"


def preview(place: "Place", draft: Draft) -> Preview:
    """Check the form as the command would. For a worker: it reads and hashes the inputs."""
    from .launching import planned

    try:
        plans, cores, _, seconds = planned(place, draft.options(), draft.parent)
    except CommandError as error:
        return Preview(field=field_of(error.message), wrong=error.line().removeprefix("rlhf-tui: "))
    wrapped = any(plan.wrapper is not None for plan in plans)
    return Preview(tuple(plan.name for plan in plans), cores, seconds, wrapped)


def field_of(message: str) -> str | None:
    """The field that a refusal speaks of: `--kl: ...`, or `kl_coef ...`."""
    head = message.split(":")[0].removeprefix("--").replace("-", "_").split()
    words = head[:1] + [word.strip("'\"") for word in message.split()[:4]]
    for word in words:
        for option in FIELDS:
            if word.rstrip(":") in (option, SETTINGS.get(option)):
                return option
    return None


def wrappers(place: "Place") -> list[tuple[str, Path]]:
    """Wrapper files: the shipped ones, the workspace's, those of earlier runs. For a worker."""
    from sessions.paths import Workspace, shipped_wrappers

    workspace = Workspace(place.workspace.absolute())
    found = [("shipped", path) for path in sorted(shipped_wrappers().glob("*.py"))]
    found += [("workspace", path) for path in sorted(workspace.wrappers.glob("*.py"))]
    found += [(path.parent.name, path) for path in sorted(workspace.runs.glob("*/wrapper.py"))]
    return [(where, path) for where, path in found if path.name != "__init__.py"]


MOST_SOURCE = 20_000  # bytes of a wrapper that are shown


def source_lines(path: Path) -> list[str]:
    """A wrapper's source, safe to show; why not, if it cannot be read. For a worker."""
    try:
        data = _beginning(path.expanduser())
    except (OSError, ValueError, RuntimeError) as error:
        return [f"cannot be read: {getattr(error, 'strerror', None) or error}"]
    lines = data[:MOST_SOURCE].decode(errors="replace").splitlines()
    return [clean(line.expandtabs(4)) for line in lines] + ["..."] * (len(data) > MOST_SOURCE)


def _beginning(path: Path) -> bytes:
    """The first bytes of a regular file: a pipe or a device is never waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        return os.read(handle, MOST_SOURCE + 1)
    finally:
        os.close(handle)
