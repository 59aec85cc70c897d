"""What `show` does: the facts that `runs` lists about a run, and what its folder adds."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rlhf.config import DEFAULTS, TASK_PREFIX
from rlhf.vocab import FAMILIES

from .columns import COLUMNS, cell
from .deciding import ERRORS, history_lines
from .explain import in_full
from .fields import FIELDS
from .launch_form import is_usual
from .place import Place
from .render import NONE, clean, exact, with_error
from .state import Row
from .table import layout

if TYPE_CHECKING:
    from sessions.paths import Workspace

_SETTINGS = ("kl_coef", "steps", "mix", "wrapper", "parent", "sweep", "tags")
_ALWAYS = ("lr", "batch_prompts", "samples_per_prompt")  # default or not
_TOLD = ("kl_coef", "steps", "family_weights", "reward_wrapper", "seed")  # of the config, above
_WHEN = ("created", "started", "ended")


def facts(place: Place, workspace: "Workspace", run_id: str) -> dict[str, Any]:
    """The document of `show --json`, without its format."""
    from sessions.detail import detail

    listing = place.catalogue().scan()
    run = next(run for run in listing.runs if run["id"] == run_id)
    more = detail(workspace, run_id, listing.folders[run_id])
    done = more["done"] or {}
    made = {key: value for key, value in done.items() if "sha256" in key or key == "artefacts"}
    return {**run, **more, "hashes": {"code": more["code"], "inputs": more["inputs"], **made}}


def fact_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The document for people: a line a fact, figures as a table."""
    row = Row(found["id"], (dict(found),))
    state = cell(row, COLUMNS["state"])
    yield f"{clean(found['name'])}  {state}  {clean(found['reason'] or '')}".rstrip()
    pairs = [(FIELDS[key].key, in_full(found[key])) for key in _SETTINGS if found[key]]
    pairs.append(("seed", exact(found["seed"])))
    pairs += _options(found)
    pairs += [(key, found[key]) for key in _WHEN if found[key]]
    pairs += [(key, exact(found[key])) for key in ("host", "pid", "folder") if found[key]]
    if found["command"]:
        pairs.append(("command", " ".join(map(str, found["command"]))))
    pairs += [("files", " ".join(found["files"])), ("checkpoints", _joined(found["checkpoints"]))]
    pairs += [("not finite", _joined(found["nonfinite"]))] if found["nonfinite"] else []
    pairs += [("note", str(note.get("text", ""))) for note in found["notes"]]
    if found["decisions"]:
        said = history_lines(found["decisions"], found["verdict_stale"])
        pairs += [("decision", line) for line in said]
    for label, text in pairs:
        yield f"  {label:18} {clean(text)}"
    yield ""
    yield from layout(_figures(found), None)
    yield ERRORS


def _options(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The rate and the batch, and every other setting that is not as by default."""
    config = found["config"] or {}
    task = str((found["env"] or {}).get("TASK") or TASK_PREFIX)
    for key in DEFAULTS:
        value = config.get(key)
        if key in _TOLD or value is None:
            continue
        if key in _ALWAYS or not is_usual(key, value, task):
            yield key, in_full(value)


def _joined(values: list[Any]) -> str:
    return " ".join(map(str, values)) or NONE


def _figures(found: Mapping[str, Any]) -> list[list[str]]:
    table = [["FIGURES", "proxy", "KL, nats (k1)", "n"]]
    for scope in ("dev", "balanced", *FAMILIES):
        pair = [FIELDS[f"{scope}.{metric}"] for metric in ("proxy", "kl")]
        values = [(field.get(dict(found)), field.error) for field in pair]
        cells = [with_error(v, error(dict(found)) if error else None) for v, error in values]
        count = pair[0].count
        table.append([scope, *cells, exact(count(dict(found)) if count else None)])
    return table
