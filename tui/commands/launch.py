"""`rlhf-tui launch`, `clone`, `replay`: what starts trainings."""

from typing import Any

import click

from ..acting import acting, emit, find, json_option
from ..launch_options import launch_options
from ..place import Place


@click.command(short_help="Queue a training, or a sweep.")
@launch_options
@json_option
@click.pass_obj
def launch(place: Place, as_json: bool, **options: Any) -> int:
    """Check the settings, queue the runs, print their ids. Comma lists make a sweep."""
    from ..launching import start

    return start(place, options, as_json)


@click.command(short_help="Queue a run like another, with changes.")
@click.argument("run")
@launch_options
@json_option
@click.pass_obj
def clone(place: Place, run: str, as_json: bool, **options: Any) -> int:
    """Start from RUN's settings and change those that are given."""
    from ..launching import start

    return start(place, options, as_json, parent=find(place, run))


@click.command(short_help="Run it again and compare.")
@click.argument("run")
@click.option("--no-wait", is_flag=True, help="Queue it; the verdict is kept when it ends.")
@json_option
@click.pass_obj
def replay(place: Place, run: str, no_wait: bool, as_json: bool) -> int:
    """Run RUN's recorded settings again in another folder; exit 0 if it came out the same."""
    from sessions.replay import replay as queue_replay

    from ..launching import await_verdict, tell_if_paused, tell_of_replay

    with acting(place) as workspace:
        found = find(place, run)
        identifier = queue_replay(workspace, place.task, found.folder)
        tell_if_paused(workspace)
        if no_wait:
            emit(as_json, {"of": found.id, "replay": identifier}, [identifier])
            return 0
        tell_of_replay(workspace, place.task, identifier)
        return await_verdict(workspace, identifier, as_json)
