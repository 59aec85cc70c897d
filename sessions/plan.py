"""What a launch would run: options and sweeps turned into checked, named configurations."""

import ast
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rlhf.config import TASK_PREFIX, ConfigError, resolve, task_at
from rlhf.runlog import parse_lines

from .errors import InputError, UsageError
from .ids import slug
from .inputs import Hashes, check_weights, hash_inputs, input_files
from .rundir import wrapper_source

LONGEST_WRAPPER = 24  # characters of its name in a run's name
MOST_RUNS = 1000  # of one sweep: more is a slip of the keyboard
PATH_KEYS = ("policy_init", "policy_ref", "reward_model", "prompt_file", "reward_wrapper")
SHORT = {
    "kl_coef": "kl",
    "steps": "s",
    "lr": "lr",
    "batch_prompts": "b",
    "samples_per_prompt": "n",
    "temperature": "t",
    "seed": "seed",
    "save_every": "save",
}

Config = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What an operator asked for. More than one value on an axis makes a sweep."""

    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=dict)  # the config that a clone starts from
    name: str | None = None
    parent: str | None = None
    parent_name: str | None = None


@dataclass(frozen=True)
class Plan:
    """One run, checked and ready to launch. `wrapper` holds the file's bytes as checked."""

    name: str
    config: Config
    inputs: Hashes
    wrapper: bytes | None = None


@dataclass(frozen=True)
class Sweep:
    """A request of which every value is checked; its runs are made only when asked for."""

    request: Request
    base: Config  # resolved, with the first value of each axis
    axes: Mapping[str, Sequence[Any]]  # resolved values

    def __len__(self) -> int:
        return _count(self.axes)

    def configs(self, *keys: str) -> Iterator[Config]:
        """The runs' configs, in order; with `keys`, one for each point of those axes only."""
        axes = {key: values for key, values in self.axes.items() if not keys or key in keys}
        return (self.base | point for point in _points(axes))

    def names(self) -> Iterator[str]:
        """The runs' names, in order."""
        return _names(self.request, self.configs())

    def plans(self) -> Iterator[Plan]:
        """The runs, in order; each input is read and hashed once. Raises InputError."""
        read = cache(_inputs)
        for name, config in zip(self.names(), self.configs(), strict=True):
            yield Plan(name, config, *read(*(config[key] for key in PATH_KEYS)))


def _inputs(*paths: str | None) -> tuple[Hashes, bytes | None]:
    config = dict(zip(PATH_KEYS, paths, strict=True))
    wrapper = config["reward_wrapper"]
    return hash_inputs(config), None if wrapper is None else read_wrapper(Path(wrapper))


def make_plans(request: Request, task: Path) -> list[Plan]:
    """Every run of the request, in order. Raises UsageError or InputError; writes nothing."""
    return list(make_sweep(request, task).plans())


def make_sweep(request: Request, task: Path) -> Sweep:
    """The request, each value and each file of it checked once. Raises UsageError or InputError."""
    count = _count(request.axes)
    if count > MOST_RUNS:
        raise UsageError(f"this sweep would make {count} runs: at most {MOST_RUNS}")
    kept = {key: value for key, value in request.base.items() if key not in request.axes}
    with task_at(task):
        base = _resolved(kept)
        axes = {
            key: [_resolved({key: value})[key] for value in values]
            for key, values in request.axes.items()
        }
    first = {key: value for key, values in axes.items() for value in values[:1]}
    sweep = Sweep(request, base | first, axes)
    _check_inputs(list(sweep.configs(*PATH_KEYS, "family_weights")))
    return sweep


def _count(axes: Mapping[str, Sequence[Any]]) -> int:
    return math.prod(len(values) for values in axes.values())


def _points(axes: Mapping[str, Sequence[Any]]) -> Iterator[Config]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _resolved(settings: Config) -> Config:
    paths = {key: _absolute(settings[key]) for key in PATH_KEYS if key in settings}
    try:
        return resolve(settings | paths)
    except ConfigError as error:
        raise UsageError(str(error)) from error


def _absolute(value: Any) -> Any:
    in_task = value == TASK_PREFIX or str(value).startswith(TASK_PREFIX + "/")
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or in_task:
        return value
    return os.path.abspath(os.path.expanduser(value))


def _check_inputs(configs: Sequence[Config]) -> None:
    """Look at each file once, however many runs of a sweep share it."""
    every = (pair for config in configs for pair in input_files(config).items())
    files = {path: key for key, paths in every for path in paths}
    for path, key in files.items():
        if not path.is_file():
            raise InputError(f"{key}: {path} is missing", str(path))
        if path.suffix == ".safetensors":
            check_weights(path)
        elif key == "reward_wrapper":
            read_wrapper(path)
    wanted: dict[str, set[str]] = {}
    for config in configs:
        weights = config["family_weights"] or {}
        wanted.setdefault(config["prompt_file"], set()).update(f for f, w in weights.items() if w)
    for prompts, families in wanted.items():
        _check_prompts(Path(prompts), families)


def _check_prompts(path: Path, families: set[str]) -> None:
    try:
        stat = path.stat()
        missing = sorted(families - _families(path, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from error
    if missing:
        fix = "give these families no weight"
        raise UsageError(f"{path} has no prompts of {', '.join(missing)}", str(path), fix)


@lru_cache(maxsize=8)
def _families(path: Path, *_stamp: int) -> frozenset[str]:
    """The families that a file of prompts holds; read once while the file is the same."""
    with open(path, "rb") as file:
        log = parse_lines(file)
    for number, problem in log.problems:
        raise InputError(f"{path}, line {number}: {problem}", str(path))
    if not log.rows:
        raise InputError(f"{path} holds no prompts", str(path))
    return frozenset(str(row.get("family")) for row in log.rows)


def read_wrapper(path: Path) -> bytes:
    """The bytes of a reward wrapper that parses and defines transform(). Raises InputError.

    It is not run: `rlhf-tui wrapper check FILE` does that.
    """
    try:
        source = path.read_bytes()
        tree = ast.parse(source, str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", str(path)) from error
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"wrapper {path} is not valid Python: {error}", str(path)) from error
    if not any(_names_transform(node) for node in ast.walk(tree)):
        fix = "define transform(records, response_tokens, rewards)"
        raise InputError(f"wrapper {path} defines no transform()", str(path), fix)
    return source


def _names_transform(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == "transform"
    if isinstance(node, ast.ImportFrom):
        return any((alias.asname or alias.name) in ("transform", "*") for alias in node.names)
    return isinstance(node, ast.Name) and node.id == "transform"


def _names(request: Request, configs: Iterable[Config]) -> Iterator[str]:
    varied = [key for key, values in request.axes.items() if len(values) > 1]
    given = request.name or request.parent_name
    if request.name is None and request.parent_name is not None:
        varied = [key for key in request.axes if key in SHORT or key == "reward_wrapper"]
    if given is None:
        varied = [key for key in varied if key not in ("kl_coef", "steps", "reward_wrapper")]
    return (_name(given, config, varied) for config in configs)


def _name(given: str | None, config: Config, varied: Sequence[str]) -> str:
    return "-".join([given or _stem(config), *(_part(key, config[key]) for key in varied)])


def _stem(config: Config) -> str:
    wrapper = config["reward_wrapper"]
    parts = [] if wrapper is None else [_part("reward_wrapper", wrapper)]
    return "-".join([f"kl{config['kl_coef']:g}-s{config['steps']}", *parts])


def _part(key: str, value: Any) -> str:
    if key == "reward_wrapper":
        named = value and slug(Path(wrapper_source(value)).stem, "wrapper")
        return named[:LONGEST_WRAPPER] if named else "nowrapper"
    return f"{SHORT.get(key, key)}{_brief(value)}"


def _brief(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
