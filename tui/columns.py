"""How the fields of a run stand in the runs list: heading, width, text of a cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .fields import FIELDS, Field
from .marks import NOT_FINITE, STATE_MARKS, VERDICT_MARKS
from .render import NONE, age, called, clean, figure, plain

if TYPE_CHECKING:
    from .state import Row

PINNED = ("state", "name")  # always shown, at the left
_METRICS = [key for key in FIELDS if key.count(".") == 1 and not key.startswith("train.")]
DEFAULT_COLUMNS = (
    *PINNED,
    "kl_coef",
    "steps",
    "mix",
    "verdict",
    *_METRICS[:4],
    "wrapper",
    *_METRICS[4:],
    "seed",
    "age",
)
WIDTHS = {
    "state": 10,
    "verdict": 7,
    "kl_coef": 5,
    "steps": 9,
    "mix": 9,
    "wrapper": 9,
    "seed": 4,
    "age": 4,
}
OTHER_WIDTH = 12
NAME_WIDTHS = (14, 40)  # the narrowest and the widest that the name column gets
METRIC_WIDTH, GROUP_METRIC_WIDTH = 5, 10
AGE = Field(
    "age",
    "",
    "age",
    "s, m, h or d",
    "time since the run was created",
    "the run's records",
    "shipped runs carry no times",
    FIELDS["created"].get,
)
COLUMNS: dict[str, Field] = {**FIELDS, "age": AGE}
LEFT = frozenset({"state", "name", "mix", "wrapper", "id", "source", "tags", "reason", "verdict"})


@dataclass(frozen=True)
class Column:
    """A column as it is shown: its field and its width in cells."""

    field: Field
    width: int

    @property
    def key(self) -> str:
        return self.field.key

    @property
    def is_left(self) -> bool:
        return self.key in LEFT


def is_metric(key: str) -> bool:
    """Whether the column holds a measured figure."""
    return key in _METRICS or key.startswith("train.")


def laid_out(keys: Sequence[str], room: int, longest_name: int, grouped: bool) -> list[Column]:
    """The columns for a list `room` cells wide; the name gets what its runs need."""
    widths = {key: _width(key, grouped) for key in keys}
    narrowest, widest = NAME_WIDTHS
    others = sum(widths.values()) - widths["name"] + len(widths)
    widths["name"] = max(narrowest, min(longest_name, widest, max(room - others, room // 3)))
    return [Column(COLUMNS[key], widths[key]) for key in keys]


def _width(key: str, grouped: bool) -> int:
    if is_metric(key):
        return GROUP_METRIC_WIDTH if grouped else METRIC_WIDTH
    return WIDTHS.get(key, OTHER_WIDTH)


def cell(row: "Row", field: Field) -> str:
    """The text of a cell, not yet cut to its column."""
    if row.is_group:
        return _group_cell(row, field)
    value = field.get(row.runs[0])
    if value is None and field.key in row.runs[0]["nonfinite"]:
        return NOT_FINITE
    special = _SPECIAL.get(field.key)
    if special is not None:
        return special(row.runs[0], value)
    if isinstance(value, int | float):
        return figure(value) if is_metric(field.key) else plain(value)
    if isinstance(value, list):
        return clean(" ".join(map(str, value))) or NONE
    return clean(str(value)) if value is not None else NONE


def _group_cell(row: "Row", field: Field) -> str:
    """The common value of a group's runs, or mean and spread, or how many there are."""
    if field.key == "name":
        return f"{clean(row.runs[0]['name'])} (n={len(row.runs)})"
    texts = {cell(type(row)(run["id"], (run,)), field) for run in row.runs}
    if len(texts) == 1 and not is_metric(field.key):
        return texts.pop()
    spread = row.spread(field)
    if is_metric(field.key) and spread is not None:
        return f"{figure(row.value(field))}±{figure(spread)}"
    return figure(row.value(field)) if is_metric(field.key) else f"{len(texts)} kinds"


def _state(run: Mapping[str, Any], value: Any) -> str:
    return f"{STATE_MARKS.get(str(value), '?')} {clean(str(value))}"


def _name(run: Mapping[str, Any], value: Any) -> str:
    return called(run) if clean(str(value)) else f"({run['id']})"


def _steps(run: Mapping[str, Any], value: Any) -> str:
    step = run["step"]
    if value is None or step is None or step == value or run["state"] == "queued":
        return plain(value)
    return f"{plain(step)}/{plain(value)}"


def _mix(run: Mapping[str, Any], value: Any) -> str:
    """Families by falling share, in letters: `equal`, `abcf`, `abcf>e>d`."""
    if not isinstance(value, dict) or not value:
        return NONE
    shares: dict[float, str] = {}
    for family, share in value.items():
        shares[round(share, 6)] = shares.get(round(share, 6), "") + clean(family)[:1]
    if len(shares) == 1 and len(value) == 6:
        return "equal"
    return ">".join(shares[share] for share in sorted(shares, reverse=True))


def _wrapper(run: Mapping[str, Any], value: Any) -> str:
    return clean(str(value)).replace("\\", "/").rsplit("/", 1)[-1] if value else NONE


def _verdict(run: Mapping[str, Any], value: Any) -> str:
    """`○ hold`; with a question mark where the checkpoint is another since."""
    if value is None:
        return NONE
    doubt = "?" if run["verdict_stale"] else ""
    return f"{VERDICT_MARKS.get(str(value), '?')} {clean(str(value))}{doubt}"


def _age(run: Mapping[str, Any], value: Any) -> str:
    return age(value)


_SPECIAL = {
    "state": _state,
    "name": _name,
    "steps": _steps,
    "mix": _mix,
    "wrapper": _wrapper,
    "age": _age,
    "verdict": _verdict,
}
