"""`rlhf-tui runs`: every run with its figures, as a table, CSV or JSON."""

import click

from ..acting import evaluate_option
from ..fields import FIELDS
from ..place import Place

_EPILOG = f"Fields, to filter and to sort by: {' '.join(FIELDS)}"


@click.command(short_help="List the runs with proxy and KL per family.", epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV of every field.")
@click.option("--filter", "wanted", default="", metavar="EXPR", help="As in the dashboard.")
@click.option("--sort", "sort_by", metavar="FIELD", help="Sort by a field; -FIELD reverses.")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many runs.")
@evaluate_option("runs that have no per-family figures yet")
@click.pass_obj
def runs(
    place: Place,
    as_json: bool,
    as_csv: bool,
    wanted: str,
    sort_by: str | None,
    limit: int | None,
    evaluate: int,
) -> None:
    """List the runs with their figures, per family.

    A filter is terms that must all hold: state=running dune.kl>5 'or' !name~^kl (see README).
    """
    from ..listing import Query, collect, show

    query = Query(wanted, sort_by, limit, 0 if place.read_only else evaluate)
    show(collect(place, query), "json" if as_json else "csv" if as_csv else "text")
