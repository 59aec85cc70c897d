"""What of a run's tails a decision rests on: where its scores lie beside the reference's."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rlhf.runlog import dumps

from .errors import SessionError
from .tails import Document, Tails, Wanted
from .unready import policy_lack

RUN = "run"


class TailsEvidence(NamedTuple):
    """`figures` and the sha256, by name, of what they came from; or why there are none.

    By family {n, above_p99_5, median_shift}, the last two {value, low, high} or null, as in
    `rlhf.analysis.tail_compare`; `shifted`: the families whose median's interval excludes no shift.
    """

    figures: dict[str, Any] | None = None
    sha256: Mapping[str, str] = {}
    why: str = ""


def tails_evidence(tails: Tails, folder: Path) -> TailsEvidence:
    """The tails of the checkpoint in `folder`, if its scores and the reference's are kept.

    Samples nothing; the figures of kept scores take half a second the first time.
    """
    wanted = tails.beside([Wanted(RUN, folder)])
    if len(wanted) == 1:
        return TailsEvidence(why="it is the reference itself")
    sources, lacking = tails.stored(wanted)
    if lack := policy_lack(folder):
        return TailsEvidence(why=f"it is {lack}")
    if lacking:
        names = " and ".join(f"the {one.name}'s" for one in lacking)
        return TailsEvidence(why=f"no scores are kept ({names}): `rlhf-tui tails` samples them")
    try:
        found = tails.document(sources, with_reference=True)
        hashes = {f"scores, {one.name}": tails.scores.hashes.of(one.file) for one in sources}
    except (SessionError, OSError) as error:
        return TailsEvidence(why=f"they could not be computed: {error}")
    hashes["tails"] = hashlib.sha256(dumps(found["families"]).encode()).hexdigest()
    return TailsEvidence(_headline(found), hashes)


def _headline(found: Document) -> dict[str, Any]:
    families = {
        family: {"n": run["n_finite"]}
        | {key: (run["beside_reference"] or {}).get(key) for key in _KEYS}
        for family, (_, run) in found["families"].items()
    }
    shifted = [family for family, one in families.items() if _excludes_zero(one["median_shift"])]
    return {"families": families, "shifted": shifted}


_KEYS = ("above_p99_5", "median_shift")


def _excludes_zero(shift: Mapping[str, Any] | None) -> bool:
    low, high = ((shift or {}).get(end) for end in ("low", "high"))
    return low is not None and high is not None and (low > 0 or high < 0)
