"""Samples and probes as lines: what is over-represented is marked. No Textual here."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from rlhf.vocab import RESP_LEN

from .render import clean, figure

KINDS = ("highest", "lowest", "random")
POSITIONS = "by position"
ABOUT = [
    ("score", "raw score of the response by the reward model that is named above: the task's, or"
     " after b the one that the run was trained with"),
    ("KL", "per-sequence k1 estimate to the reference, nats: log pi - log pi_ref of the response"),
    ("n", "responses sampled at temperature 1: 500 prompts a family, 4 samples each, seed 0"),
    ("xN", "a response that was sampled N times for its prompt is shown once"),
    ("distinct", "responses that differ from each other or have another prompt"),
    ("marked", "tokens whose share is at least 1.5 times the reference's on the same prompts, the"
     " lower end of the ratio's interval above 1"),
    ("interval", "95 % jointly for the 24 tokens of a family (Bonferroni), over prompts, so that"
     " samples of one prompt count once; half an occurrence is added to both counts"),
    (POSITIONS, "of each position the token with the highest ratio there; 95 % jointly for all"
     " tokens and positions; n: responses with a token there"),
    ("not", "a single run says nothing of the spread between trainings"),
]  # fmt: skip

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
        f"{clean(row['token'])} {_ratio(row)} {100 * row['share']:.0f} % of tokens, reference "
        f"{100 * row['reference']:.1f} %"
        for row in marked[:most]
    ]
    more = f"; {len(marked) - most} more" if len(marked) > most else ""
    return "over-represented: " + "; ".join(told) + more


def _ratio(row: Mapping[str, Any]) -> str:
    """`x17.3 (16.1-18.6)`."""
    return f"x{figure(row['ratio'])} ({figure(row['low'])}-{figure(row['high'])})"


def position_lines(family: Family) -> list[Text]:
    """Of each position the token that is most over-represented, marked if it is marked at all."""
    lines = []
    for row in family.get("positions") or []:
        name = clean(str(row["token"]))
        line = Text(f"{row['position']:>3}  ", no_wrap=True)
        line.append(f"[{name}]" if row["over"] else f" {name} ", "bold" if row["over"] else "")
        line.append(f" {100 * row['share']:6.1f} % {100 * row['reference']:6.1f} %")
        lines.append(line.append(f" {row['n']:>6}  {_ratio(row)}"))
    return lines


def response_text(row: Mapping[str, Any], marked: Iterable[str]) -> Text:
    """Score, KL, how often, the response with marked tokens in brackets and bold, the prompt."""
    marked = set(marked)
    score = clean(row["score"]) if isinstance(row["score"], str) else figure(row["score"])
    count = row.get("count") or 1
    times = f"x{count}" if count > 1 else ""
    text = Text(f"{score:>6} {figure(row.get('kl')):>8} {times:>5}  ", no_wrap=True)
    for token in str(row.get("response") or "").split():
        if token in marked:
            text.append(f"[{clean(token)}]", style="bold")
        else:
            text.append(f" {clean(token)} ")
    return text.append(f"  {clean(str(row.get('prompt') or row.get('id') or ''))}", style="dim")


TOKENS = 4 * RESP_LEN  # cells of a response
HEAD = f"{'score':>6} {'KL, nats':>8} {'xN':>5}  {'response, [over-represented]':{TOKENS}}  prompt"
POSITIONS_HEAD = "pos token    share reference      n  ratio of shares, 95 % joint interval"


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


def counted(family: Family) -> str:
    """`n 2000, 1312 distinct, 3 not finite`."""
    parts = [f"n {family['n']}"]
    if family.get("distinct") is not None:
        parts.append(f"{family['distinct']} distinct")
    return ", ".join(parts + [f"{n} not finite" for n in (family.get("nonfinite"),) if n])


def family_lines(name: str, family: Family, positions: bool = False) -> list[Text]:
    """One family for the terminal: its tokens, its responses, the tokens of each position."""
    head = f"{clean(name)}   {counted(family)}"
    lines = [Text(head, style="bold"), Text(f"  {tokens_line(family)}")]
    marked = over(family)
    for kind in KINDS:
        rows = family.get(kind) or []
        lines += [Text(f"  {kind}")] * bool(rows)
        lines += [Text("  ").append(response_text(row, marked)) for row in rows]
    if positions and family.get("positions"):
        lines.append(Text(f"  {POSITIONS}: {POSITIONS_HEAD}"))
        lines += [Text("  ").append(line) for line in position_lines(family)]
    return lines
