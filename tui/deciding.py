"""The evidence for a decision as lines of text: for the command, `show` and the dialog."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlhf.vocab import FAMILIES

from .marks import VERDICT_MARKS
from .render import NONE, age, clean, fit, pad, plain, with_error
from .tails_view import share, shift

ERRORS = "±: one standard error over prompts; n: samples"

Document = Mapping[str, Any]


def figure_lines(figures: Document) -> Iterator[str]:
    """A table: proxy and KL with standard error and n, of dev, balanced and each family.

    With them, where there are tails: the share of scores above the reference's p99.5, and the
    shift of the median in IQRs of the reference.
    """
    tails = _object(figures, "tails")
    beside = f" {'>ref p99.5':>10} {'shift, IQR':>10}" if tails else ""
    yield f"{'':9} {'proxy (RM)':>12} {'KL (k1, nats)':>14} {'n':>6}{beside}"
    dev, balanced = _object(figures, "dev"), _object(figures, "balanced")
    yield _row("dev", dev.get("proxy"), None, dev.get("kl"), None, None)
    errors = (balanced.get("proxy_se"), balanced.get("kl_se"), balanced.get("n"))
    yield _row("balanced", balanced.get("proxy"), errors[0], balanced.get("kl"), *errors[1:])
    families = _object(figures, "families")
    for family in FAMILIES:
        pair = _object(families, family)
        proxy, kl = _object(pair, "proxy"), _object(pair, "kl")
        means = (proxy.get("mean"), proxy.get("se"), kl.get("mean"), kl.get("se"))
        yield _row(family, *means, proxy.get("n")) + _beside(_object(tails, "families"), family)
    yield from _tails_lines(tails) if tails else [ERRORS]


def _tails_lines(tails: Document) -> Iterator[str]:
    rows = [_object(_object(tails, "families"), family) for family in FAMILIES]
    counts = sorted({n for row in rows if isinstance(n := row.get("n"), int)})
    found = tails.get("shifted")
    shifted = [clean(str(one)) for one in found] if isinstance(found, list) else []
    scores = f"{' or '.join(map(str, counts))} {'score' if counts == [1] else 'scores'}"
    yield f"±: standard error; of >ref and shift 95 %, {scores} each"
    yield f"median shifted (95 % each): {' '.join(shifted) or 'nowhere'}"


def _beside(families: Document, family: str) -> str:
    one = _object(families, family)
    if not one:
        return ""
    return f" {share(one.get('above_p99_5')):>10} {shift(one.get('median_shift')):>10}"


def _object(value: Any, key: str) -> Document:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _row(scope: str, proxy: Any, proxy_se: Any, kl: Any, kl_se: Any, n: Any) -> str:
    count = str(n) if isinstance(n, int) else NONE
    pair = (with_error(proxy, proxy_se), with_error(kl, kl_se))
    return f"{scope:9} {pad(pair[0], 12, right=True)} {pad(pair[1], 14, right=True)} {count:>6}"


def missing_lines(missing: Sequence[Any]) -> Iterator[str]:
    """What is missing, by name: inputs that are missing for one reason share a line."""
    by_reason: dict[str, list[str]] = {}
    for item in missing:
        if isinstance(item, Mapping):
            names = by_reason.setdefault(clean(str(item.get("why"))), [])
            names.append(clean(str(item.get("input"))))
    for why, names in by_reason.items():
        yield from _folded(names)
        yield f"  {why}"


def _folded(names: Sequence[str]) -> Iterator[str]:
    """`true quality of anvil birch`: what the names share is written once."""
    groups: dict[str, list[str]] = {}
    for name in names:
        head, _, last = name.rpartition(" ")
        groups.setdefault(head if last in FAMILIES else name, []).append(last)
    for head, lasts in groups.items():
        yield f"{head} of {' '.join(lasts)}" if lasts[0] in FAMILIES else head


def decision_line(made: Document, stale: Any = None) -> str:
    """`○ hold  3h ago by ann@host: its reason`, and whether it is out of date."""
    verdict = clean(str(made.get("decision")))
    who, when = clean(str(made.get("by"))), age(made.get("at"))
    old = "  OUT OF DATE: the checkpoint changed since" if stale else ""
    reason = clean(str(made.get("reason")))
    return f"{VERDICT_MARKS.get(verdict, '?')} {verdict}  {when} ago by {who}: {reason}{old}"


def hash_lines(hashed: Any) -> Iterator[str]:
    """What the figures came from: the first digits of each sha256."""
    for name, digest in hashed.items() if isinstance(hashed, Mapping) else ():
        shown = clean(digest)[:12] if isinstance(digest, str) else "not there"
        yield f"  {clean(str(name)):34} {shown}"


def evidence_lines(found: Document, history: Sequence[Document], stale: Any) -> Iterator[str]:
    """All that a decision rests on, and the decisions there are."""
    figures, missing = _object(found, "figures"), found.get("missing")
    step, steps = plain(figures.get("step")), plain(figures.get("steps"))
    why = clean(str(figures.get("reason") or ""))
    yield fit(f"{clean(str(figures.get('state')))} at {step} of {steps} steps  {why}".rstrip(), 200)
    yield from figure_lines(figures)
    yield ""
    lacking = list(missing_lines(missing if isinstance(missing, list) else []))
    yield "still missing for a decision:" if lacking else "nothing is missing"
    yield from (f"  {line}" for line in lacking)
    yield ""
    yield from history_lines(history, stale)
    yield ""
    yield "sha256 of what the figures came from:"
    yield from hash_lines(found.get("sha256"))


def history_lines(history: Sequence[Document], stale: Any) -> Iterator[str]:
    """The decision that stands, then the earlier ones, newest first."""
    if not history:
        yield "no decision yet"
    for place, made in enumerate(reversed(history)):
        yield f"{'before' if place else 'now'}: {decision_line(made, not place and stale)}"
