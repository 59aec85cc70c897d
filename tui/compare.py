"""In which settings runs differ, and their figures side by side, as lines and as a document."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sessions.rundir import WRAPPER_KEY

from .fields import Run
from .render import called, clean, fit, mix
from .table import layout

Differences = Sequence[tuple[str, Mapping[str, Any]]]


def difference_lines(found: Differences, runs: Mapping[str, Run]) -> list[str]:
    """A heading of run names, then a line a setting that is not the same in all `runs`."""
    if len(runs) < 2:
        return ["Settings are compared of two runs that have some (the reference has none)."]
    if not found:
        return ["They do not differ in any setting."]
    keys = list(found[0][1])
    names = [fit(called(runs[key]) if key in runs else key, 20) for key in keys]
    rows = [["setting", *names]]
    rows += [[setting, *(shown(setting, values[key]) for key in keys)] for setting, values in found]
    return layout(rows, None)


def shown(setting: str, value: Any) -> str:
    """A setting's value in brief; without a wrapper there is none, the others have a default."""
    if value is None:
        return "none" if setting.startswith(WRAPPER_KEY) else "default"
    if isinstance(value, dict):
        return mix(value)
    text = clean(str(value))
    return fit(text.rsplit("/", 1)[-1], 24)


def differences(configs: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The settings in which the runs differ: (key, value by run), in the order of the keys."""
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    rows = [(key, {run: config.get(key) for run, config in configs.items()}) for key in keys]
    return [(key, values) for key, values in rows if _differ(values.values())]


def _differ(values: Iterable[Any]) -> bool:
    listed = list(values)
    return any(value != listed[0] for value in listed[1:])
