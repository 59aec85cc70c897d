"""The filter language, term by term."""

from typing import Any

import pytest

from tui.filter import FilterError, compile_filter

RUN: dict[str, Any] = {
    "id": "kl002-s1500",
    "name": "KL002 long",
    "state": "finished",
    "kl_coef": 0.02,
    "steps": 1500,
    "wrapper": None,
    "seed": 0,
    "tags": ["Night", "to ship"],
    "created": "2026-03-01T10:00:00Z",
    "mix": {"anvil": 0.5, "birch": 0.5},
    "dev": {"proxy": 1.13, "kl": None},
    "balanced": None,
    "families": {"dune": {"kl": {"mean": 7.5, "se": 0.2, "n": 800}, "proxy": None}},
    "train": {"entropy": 1.5},
    "nonfinite": ["train.loss"],
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("   ", True),
        ("kl002", True),
        ("kl002 short", False),
        ("kl002 or short", True),
        ("short or kl002 missing", False),
        ("!short", True),
        ("!(short or kl002)", False),
        ("!!kl002", True),
        ('"kl002 long"', True),
        ("'002 l'", True),
        ("state=finished", True),
        ("state=FINISHED", True),
        ("state:fin", True),
        ("state=fin", False),
        ("state!=lost", True),
        ("kl=0.02", True),
        ("kl=.02", True),
        ("kl_coef<0.1 steps>=1500", True),
        ("steps>1500", False),
        ("steps<=1e9", True),
        ("dune.kl>5", True),
        ("families.dune.kl>5", True),
        ("dune.kl.se<0.1", False),
        ("dune.kl > 5", True),
        ("dune.proxy>0", False),
        ("dune.proxy!=0", False),
        ("!dune.proxy>0", True),
        ("dev.kl<=99 or dev.kl>99", False),
        ("balanced.kl=0", False),
        ("wrapper!=x", False),
        ("wrapper~.", False),
        ("name~^kl\\d+", True),
        ('name~"(002|003) l"', True),
        ("name~^long", False),
        ("tags:night", True),
        ("tags:nigh", False),
        ('tags:"to ship"', True),
        ("mix:anvil", True),
        ("mix:dune", False),
        ("mix.anvil=0.5", True),
        ("mix.dune>0", False),
        ("train.entropy<2", True),
        ("created>=2026-02 created<2026-03-01T11:00", True),
        ("nonfinite:train.loss", True),
        ("steps=many", False),
        ("(kl002)", True),
        ("(kl002 or x) (long)", True),
        ("a or b or long", True),
        ("OR", None),
        ("kl002 or", None),
        ("or kl002", None),
        ("(kl002", None),
        ("kl002)", None),
        ("()", None),
        ("!", None),
        (">5", None),
        ("kl>", None),
        ("kl=(", None),
        ("dume.kl>5", None),
        ("name~[", None),
        ("dune.kl>>5", None),
        ("dune.kl>=<5", None),
        ('name~"(a+)+$"', None),
        ('name~"(.*a){20}"', None),
        ('name~"(kl|x)+0"', True),
        ('"open', None),
        ("'", None),
        ("(" * 5000, None),
        ("!" * 5000 + "x", None),
    ],
)
def test_filter(text: str, holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(FilterError):
            compile_filter(text)
    else:
        assert compile_filter(text)(RUN) is holds


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(FilterError, match=r"dume\.kl.*did you mean 'dune\.kl'"):
        compile_filter("dume.kl>5")
