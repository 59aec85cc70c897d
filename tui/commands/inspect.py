"""`rlhf-tui show` and `compare`: the facts of one run, and of several side by side."""

import click

from ..acting import acting, emit, find, find_all, json_option
from ..place import Place


@click.command(short_help="Everything that is known about a run.")
@click.argument("run")
@json_option
@click.pass_obj
def show(place: Place, run: str, as_json: bool) -> None:
    """Figures, settings, command, hashes, files and notes of RUN: an id, a prefix or a folder."""
    from ..showing import fact_lines, facts

    with acting(place, changes=False) as workspace:
        document = facts(place, workspace, find(place, run).id)
    emit(as_json, document, fact_lines(document))


@click.command(short_help="Runs side by side: settings that differ, figures.")
@click.argument("names", metavar="RUN RUN...", nargs=-1, required=True)
@click.option("--csv", "as_csv", is_flag=True, help="CSV of the figures.")
@json_option
@click.pass_obj
def compare(place: Place, names: tuple[str, ...], as_csv: bool, as_json: bool) -> None:
    """Settings in which the runs differ, and their figures with standard errors."""
    from ..comparing import compared, comparison_csv, comparison_lines

    found = compared(place, [run.id for run in find_all(place, names)])
    if as_csv:
        print(comparison_csv(found), end="")
    else:
        emit(as_json, found.document(), comparison_lines(found))
