"""The launch form without its face: fields, what is typed, the command line, the preview."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlhf.config import DEFAULTS

from .exits import CommandError
from .launch_options import AXES, PATHS
from .render import clean, mix

if TYPE_CHECKING:
    from .place import Place

OTHERS = {  # option: what it means; the settings it stands for are in `setting_of`
    "weights": "Weights of families, dune=0,ember=.5.",
    "families": "Only these families, equally: a,b.",
    "seeds": "Seeds: 0-2 is 0,1,2.",
    "set": "Any setting, key=JSON; several by spaces.",
    "name": "Any text; the id is made from it.",
}
SETTINGS = {  # option: its key in a run's config
    **{option: key for option, (key, _, _) in AXES.items()},
    **{option: key for option, (key, _) in PATHS.items()},
    "weights": "family_weights",
    "seeds": "seed",
}
MEANINGS = {
    **{option: text for option, (_, _, text) in AXES.items()},
    **{option: text for option, (_, text) in PATHS.items()},
    **OTHERS,
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
        options: dict[str, Any] = {option: given.get(option) for option in FIELDS}
        options["settings"] = _split(options.pop("set") or "")
        return {**options, "seed": None}


def _split(text: str) -> list[str]:
    """Words, with quotes kept: settings are JSON."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def base_texts(config: Mapping[str, Any]) -> dict[str, str]:
    """What a run of this config has other than by default, as it would be typed in each field."""
    values = {option: config.get(key, DEFAULTS[key]) for option, key in SETTINGS.items()}
    return {o: _typed(value) for o, value in values.items() if value != DEFAULTS[SETTINGS[o]]}


def _typed(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ",".join(f"{family}={weight:g}" for family, weight in value.items())
    return clean(f"{value:g}" if isinstance(value, float) else str(value))


def placeholder(option: str, config: Mapping[str, Any]) -> str:
    """What stands dimmed in an empty field: the value that it then has."""
    key = SETTINGS.get(option)
    if key is None:
        return ""
    value = config.get(key, DEFAULTS[key])
    if option == "weights":
        return clean(mix(value)) if value else "equal"
    return _typed(value) or "none"


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
        with open(path.expanduser(), "rb") as file:
            data = file.read(MOST_SOURCE + 1)
    except OSError as error:
        return [f"cannot be read: {error.strerror}"]
    lines = data[:MOST_SOURCE].decode(errors="replace").splitlines()
    return [clean(line.expandtabs(4)) for line in lines] + ["..."] * (len(data) > MOST_SOURCE)
