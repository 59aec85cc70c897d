"""`rlhf-tui wait`, `logs`, `jobs`: what watches trainings."""

import click

from ..acting import acting, emit, find, find_all, json_option
from ..place import Place


@click.command(short_help="Wait for runs to end.")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up (exit 1)."
)
@json_option
@click.pass_obj
def wait(place: Place, names: tuple[str, ...], timeout: float | None, as_json: bool) -> int:
    """Exit 0 if all of them finished, 1 if one did not."""
    from sessions.wait import wait as wait_for

    from ..launching import report, tell_of_waiting

    with acting(place, changes=False) as workspace:
        folders = [found.folder for found in find_all(place, names)]
        tell_of_waiting(workspace, folders)
        return report(wait_for(workspace, folders, timeout), as_json)


@click.command(short_help="Show the output of a run or job.")
@click.argument("run")
@click.option("--lines", "-n", default=50, show_default=True, type=click.IntRange(min=0))
@click.option("--from", "first", type=click.IntRange(min=1), help="Begin at this line instead.")
@click.option("--follow", "-f", is_flag=True, help="Go on as it grows, until the run ends.")
@click.option("--grep", metavar="REGEX", help="Only lines that match.")
@click.option("--invert", "-v", is_flag=True, help="Only lines that do not match.")
@click.option("--errors", is_flag=True, help="Only lines that look like errors.")
@click.option("--metrics", is_flag=True, help="The log of metrics instead of the output.")
@json_option
@click.pass_obj
def logs(
    place: Place,
    run: str,
    lines: int,
    first: int | None,
    follow: bool,
    grep: str | None,
    invert: bool,
    errors: bool,
    metrics: bool,
    as_json: bool,
) -> None:
    """The last lines of RUN's output; with a pattern, the last that match."""
    from ..log_output import LogQuery, show_log

    with acting(place, changes=False):
        folder = find(place, run).folder
        show_log(folder, LogQuery(lines, first, follow, grep, invert, errors, metrics, as_json))


@click.group(invoke_without_command=True, short_help="What runs and what waits.")
@json_option
@click.pass_context
def jobs(ctx: click.Context, as_json: bool) -> None:
    """What runs and waits, with progress, steps a second and time left."""
    if ctx.invoked_subcommand is not None:
        return
    from sessions.queue import paused

    from ..job_table import job_lines, job_rows

    with acting(ctx.obj, changes=False) as workspace:
        rows, stands = job_rows(workspace), paused(workspace)
        emit(as_json, {"paused": stands, "jobs": rows}, job_lines(rows, stands))


@jobs.command()
@json_option
@click.pass_obj
def pause(place: Place, as_json: bool) -> None:
    """Start nothing more; what runs goes on."""
    from sessions.queue import pause as set_pause

    with acting(place) as workspace:
        set_pause(workspace, True)
        emit(as_json, {"paused": True}, ["paused: what runs goes on, nothing more starts"])


@jobs.command()
@json_option
@click.pass_obj
def go(place: Place, as_json: bool) -> None:
    """Start what waits again."""
    from sessions.queue import pause as set_pause
    from sessions.supervise import ensure_supervisor

    with acting(place) as workspace:
        set_pause(workspace, False)
        ensure_supervisor(workspace)
        emit(as_json, {"paused": False}, ["going on"])


@jobs.command()
@click.argument("run")
@click.option("--to", "position", default=1, show_default=True, type=click.IntRange(min=1))
@json_option
@click.pass_obj
def move(place: Place, run: str, position: int, as_json: bool) -> None:
    """Give a waiting RUN another place in line."""
    from sessions.queue import move as move_to

    from ..job_table import job_lines, job_rows

    with acting(place) as workspace:
        move_to(workspace, find(place, run).id, position)
        rows = job_rows(workspace)
        emit(as_json, {"jobs": rows}, job_lines(rows, False))
