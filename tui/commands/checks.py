"""`rlhf-tui doctor` and `rlhf-tui wrapper check`: looking before anything is spent."""

import click

from ..acting import acting, emit, json_option, narrate
from ..place import Place


@click.command(short_help="What this machine and terminal offer.")
@json_option
@click.pass_obj
def doctor(place: Place, as_json: bool) -> int:
    """Isolation, cores, disk, terminal, write access, versions; exit 1 if something is amiss."""
    from sessions.doctor import examine

    from ..looks import chosen_look, named_look

    with acting(place, changes=False) as workspace:
        findings = examine(workspace, place.task, not named_look() and chosen_look() == "ascii")
        lines = [
            f"{item.level:5}{item.topic:12} {item.text}" + (f" ({item.fix})" if item.fix else "")
            for item in findings
        ]
        emit(as_json, {"findings": [vars(item) for item in findings]}, lines)
        return int(any(item.level == "bad" for item in findings))


@click.group(short_help="Look at a reward wrapper.")
def wrapper() -> None:
    """Reward wrappers are your own code and run with your rights."""


@wrapper.command()
@click.argument("file", type=click.Path())
@click.option("--n", default=200, show_default=True, type=click.IntRange(min=1), help="A family.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@json_option
@click.pass_obj
def check(place: Place, file: str, n: int, seed: int, as_json: bool) -> None:
    """Run FILE on samples of the reference, with your rights, and say what it does."""
    from pathlib import Path

    from sessions.wrapper_check import check_wrapper, wrapper_at

    from ..wrapper_report import report_lines

    with acting(place, changes=False):
        path = wrapper_at(Path(file))
        narrate(f"sampling the reference {n} times a family, and running {path.name} on that")
        found = check_wrapper(place.task.absolute(), path, n, seed)
        emit(as_json, found, report_lines(found))
