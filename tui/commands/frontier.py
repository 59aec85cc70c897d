"""`rlhf-tui frontier`: reward against root KL of runs' checkpoints, beside best-of-n."""

import click

from rlhf.vocab import FAMILIES

from ..acting import Once, evaluate_option, json_option
from ..curves import OVERALL
from ..place import Place


@click.command(short_help="Proxy against root KL of checkpoints, and best-of-n.")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--family", cls=Once, metavar="F", type=click.Choice([OVERALL, *FAMILIES]), help="Only F."
)
@click.option("--bon/--no-bon", default=True, help="With best-of-n (the default) or without.")
@evaluate_option("checkpoints that have no per-family figures yet")
@click.option("--csv", "as_csv", is_flag=True, help="CSV, a line a point.")
@json_option
@click.pass_obj
def frontier(
    place: Place,
    names: tuple[str, ...],
    family: str | None,
    bon: bool,
    evaluate: int,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Per family: step, KL, root KL and proxy of RUNs' checkpoints, and best-of-n.

    \b
    Example: rlhf-tui frontier kl002-s1500 default-s800 --family dune --json
    """
    from ..frontier_report import Asked, report

    form = "json" if as_json else "csv" if as_csv else "text"
    report(place, Asked(names, family, bon, evaluate), form)
