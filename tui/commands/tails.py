"""`rlhf-tui tails`: the tails of reward scores per family, beside the reference's."""

from pathlib import Path

import click

from ..acting import Once, json_option, reward_model_option
from ..place import Place


@click.command(short_help="Histograms and quantiles of raw scores per family.")
@click.argument("names", metavar="[RUN...]", nargs=-1)
@click.option(
    "--file",
    "files",
    metavar="SCORES",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A score file from elsewhere, JSONL or CSV (repeatable).",
)
@click.option("--family", cls=Once, metavar="F", help="Only this family.")
@click.option("--alone", is_flag=True, help="Without the reference beside it.")
@click.option("--log", is_flag=True, help="A logarithmic count axis.")
@reward_model_option
@json_option
@click.pass_obj
def tails(
    place: Place,
    names: tuple[str, ...],
    files: tuple[Path, ...],
    family: str | None,
    alone: bool,
    log: bool,
    scorer: str,
    as_json: bool,
) -> None:
    """Per family: raw scores of RUNs beside the reference, on one axis, with quantiles.

    A run without scores is sampled first, which takes some seconds, and kept.
    """
    from ..tails_report import Asked, report

    report(place, Asked(names, files, alone, log, family, scorer), as_json)
