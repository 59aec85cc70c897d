"""Samples and probes as lines: what is over-represented is marked. No Textual here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from .render import clean, figure

KINDS = ("highest", "lowest", "random")
ABOUT = [
    ("score", "raw reward-model score of the response"),
    ("KL", "per-sequence k1 estimate to the reference, nats: log pi - log pi_ref of the response"),
    ("n", "responses sampled at temperature 1: 500 prompts a family, 4 samples each, seed 0"),
    ("marked", "tokens whose share is at least 1.5 times the reference's on the same prompts, the"),
    ("", "lower end of the ratio's interval above 1"),
    ("interval", "95 % jointly for the 24 tokens of a family (Bonferroni), over prompts, so that"),
    ("", "samples of one prompt count once; half an occurrence is added to both counts"),
    ("not", "a single run says nothing of the spread between trainings"),
]

Family = Mapping[str, Any]


def over(family: Family) -> dict[str, dict[str, Any]]:
    """The over-represented tokens, the most so first."""
    return {row["token"]: row for row in family.get("tokens") or [] if row.get("over")}


def tokens_line(family: Family, most: int = 6) -> str:
    """`pa x17.3 (16.1-18.6) 73 % of tokens, reference 4 %`, and so on."""
    marked = list(over(family).values())
    if not family.get("tokens"):
        return "no reference samples of the same prompts to compare with"
    if not marked:
        return "no token is over-represented"
    told = [
        f"{clean(row['token'])} x{figure(row['ratio'])} ({figure(row['low'])}-"
        f"{figure(row['high'])}) {100 * row['share']:.0f} % of tokens, was "
        f"{100 * row['reference']:.1f} %"
        for row in marked[:most]
    ]
    more = f"; {len(marked) - most} more" if len(marked) > most else ""
    return "over-represented: " + "; ".join(told) + more


def response_text(row: Mapping[str, Any], marked: Iterable[str]) -> Text:
    """Score, KL, the response with marked tokens in brackets and bold, the prompt."""
    marked = set(marked)
    score = clean(row["score"]) if isinstance(row["score"], str) else figure(row["score"])
    text = Text(f"{score:>6} {figure(row.get('kl')):>6}  ", no_wrap=True)
    for token in str(row.get("response") or "").split():
        if token in marked:
            text.append(f"[{clean(token)}]", style="bold")
        else:
            text.append(f" {clean(token)} ")
    return text.append(f"  {clean(str(row.get('prompt') or row.get('id') or ''))}", style="dim")


HEAD = f"{'score':>6} {'KL':>6}  response, [over-represented] tokens          prompt"


def probe_lines(answer: Mapping[str, Any]) -> list[str]:
    """A probe's answer: the score, then a line a position."""
    whole = _number(answer.get("score"), ".6g")
    lines = [f"score {whole}  (raw reward-model score)"]
    lines.append("pos token      adds   best swap       worst swap")
    for number, one in enumerate(answer.get("positions") or [], start=1):
        lines.append(
            f"{number:>3} {one['token']:5} {_number(one['contribution'], '+.3f'):>9}   "
            f"{_swap(one['best'])}   {_swap(one['worst'])}"
        )
    return lines


def _swap(one: Mapping[str, Any]) -> str:
    return f"{one['token']} {_number(one['score'], '.3f'):>9}"


def _number(value: float | None, form: str) -> str:
    """A figure; null is how the child writes one that is not finite."""
    return "not finite" if value is None else format(value, form)


def family_lines(name: str, family: Family, kinds: Sequence[str] = KINDS) -> list[Text]:
    """One family for the terminal: its tokens and its responses."""
    head = f"{clean(name)}   n {family['n']}"
    head += f", {family['nonfinite']} not finite" if family.get("nonfinite") else ""
    lines = [Text(head, style="bold"), Text(f"  {tokens_line(family)}")]
    marked = over(family)
    for kind in kinds:
        rows = family.get(kind) or []
        lines += [Text(f"  {kind}")] * bool(rows)
        lines += [Text("  ").append(response_text(row, marked)) for row in rows]
    return lines
