"""`rlhf-tui stop`, `resume`, `rm`, `restore`, `note`, `tag`, `add`, `prune`: looking after runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..acting import Found, Several, acting, confirm, emit, find, json_option, narrate, yes_option
from ..place import Place

if TYPE_CHECKING:
    from sessions.paths import Workspace

runs_argument = click.argument("names", metavar="RUN...", nargs=-1, required=True)


@click.command(short_help="Checkpoint and end runs or jobs.")
@runs_argument
@click.option("--grace", default=30.0, show_default=True, metavar="SECONDS", help="Until KILL.")
@yes_option
@json_option
@click.pass_obj
def stop(place: Place, names: tuple[str, ...], grace: float, yes: bool, as_json: bool) -> None:
    """Ask RUN to save and end; insist after the grace; make sure that all of it is gone."""
    from sessions.stop import stop as end

    with acting(place) as workspace:
        several = Several()
        found = several.find(place, names)
        confirm(f"Stop {', '.join(run.id for run in found)}?", yes)
        ended = several.each(found, lambda run: vars(end(workspace, run.folder, grace)))
        lines = [f"{one['id']}: {one['how']} after {one['seconds']:.1f} s" for one in ended]
        several.emit(as_json, "stopped", ended, lines)


@click.command(short_help="Go on from the last checkpoint.")
@runs_argument
@json_option
@click.pass_obj
def resume(place: Place, names: tuple[str, ...], as_json: bool) -> None:
    """Queue another attempt at runs that were stopped, failed or were lost."""
    from sessions.resume import resume as again

    from ..launching import tell_if_paused

    with acting(place) as workspace:
        several = Several()

        def act(run: Found) -> str:
            again(workspace, run.folder)
            return run.id

        resumed = several.each(several.find(place, names), act)
        if resumed:
            tell_if_paused(workspace)
        several.emit(as_json, "runs", resumed, resumed)


@click.command(short_help="Move runs to the trash.")
@runs_argument
@yes_option
@json_option
@click.pass_obj
def rm(place: Place, names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Move RUN to the trash; `restore` brings it back, `prune` empties the trash."""
    from sessions.trash import discard

    with acting(place) as workspace:
        several = Several()
        found = several.find(place, names)
        confirm(f"Move {', '.join(run.id for run in found)} to the trash?", yes)

        def act(run: Found) -> str:
            discard(workspace, run.folder)
            return run.id

        trashed = several.each(found, act)
        several.emit(as_json, "trashed", trashed, trashed)


@click.command(short_help="Bring runs back from the trash.")
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that lies there.")
@json_option
@click.pass_obj
def restore(place: Place, ids: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Bring IDS back to where they were; without any, list the trash."""
    from sessions.trash import restore as bring_back
    from sessions.trash import thrown_away

    with acting(place, changes=bool(ids) or everything) as workspace:
        there = list(thrown_away(workspace))
        chosen = there if everything else list(ids)
        several = Several()
        back = several.each(chosen, lambda key: bring_back(workspace, key).name)
        left = list(thrown_away(workspace))
        lines = back or left or ["the trash is empty"]
        several.emit(as_json, "restored", back, lines, trash=left)


@click.command(short_help="Keep a note with a run.")
@click.argument("run")
@click.argument("text", nargs=-1, required=True)
@json_option
@click.pass_obj
def note(place: Place, run: str, text: tuple[str, ...], as_json: bool) -> None:
    """Add TEXT to RUN's notes; shipped runs can have notes too."""
    from sessions import meta

    with acting(place) as workspace:
        identifier = find(place, run).id
        meta.note(workspace, identifier, " ".join(text))
        notes = meta.read(workspace, identifier).of_kind("note")
        emit(as_json, {"run": identifier, "notes": notes}, [f"{identifier}: {len(notes)} note(s)"])


@click.command(short_help="Add or remove tags.")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Remove these tags.")
@json_option
@click.pass_obj
def tag(place: Place, run: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Add TAGS to RUN, or with --remove take them away."""
    from sessions import meta

    with acting(place) as workspace:
        identifier = find(place, run).id
        add, gone = ((), tags) if remove else (tags, ())
        standing = meta.tag(workspace, identifier, add, gone)
        line = f"{identifier}: {', '.join(standing) or 'no tags'}"
        emit(as_json, {"run": identifier, "tags": standing}, [line])


@click.command(short_help="Show runs trained elsewhere.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Show it no longer; its files stay.")
@json_option
@click.pass_obj
def add(place: Place, folder: Path, remove: bool, as_json: bool) -> None:
    """Show the run in FOLDER, or all runs one level down, in place and read-only."""
    from sessions import added

    with acting(place) as workspace:
        if remove:
            gone, places = added.forget(workspace, folder)
            narrate(f"no longer shown: {gone}; its files stay")
            emit(as_json, {"folders": places, "removed": gone}, places)
        else:
            places = _add(place, workspace, folder)
            emit(as_json, {"folders": places}, places)


def _add(place: Place, workspace: "Workspace", folder: Path) -> list[str]:
    """The added folders; says which runs are shown already."""
    from sessions import added

    known = {path.resolve() for path in place.catalogue().scan().folders.values()}
    places = added.add(workspace, folder, known)
    runs = added.runs_in(folder.expanduser().resolve())
    twice = sorted(run.name for run in runs if run.resolve() in known)
    if twice:
        narrate(f"shown once, as before: {', '.join(twice)}")
    return places


@click.command(short_help="Show and free disk space.")
@click.option("--checkpoints", is_flag=True, help="Also the checkpoints of finished runs.")
@click.option("--dry-run", is_flag=True, help="Only say what takes space and would be freed.")
@yes_option
@json_option
@click.pass_obj
def prune(place: Place, checkpoints: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Empty the trash and the cache for good; say what takes space."""
    from sessions.disk import CHECKPOINTS, removable, remove, run_sizes, usage

    from ..disk_table import remarks, usage_lines

    with acting(place, changes=not dry_run) as workspace:
        before, found = usage(workspace), removable(workspace)
        items = [i for i in found if checkpoints or i.kind != CHECKPOINTS]
        kept = sum(i.size for i in found if i not in items)
        sizes = [
            {"id": run, "bytes": whole, "checkpoints": part}
            for run, (whole, part) in run_sizes(workspace).items()
        ]
        rows = [{"kind": i.kind, "path": str(i.path), "bytes": i.size} for i in items]
        if not dry_run and items:
            asked = f"Remove {len(items)} item(s), {sum(i.size for i in items):,} bytes?"
            confirm("\n".join([*remarks(rows, kept), asked]), yes)
        freed = 0 if dry_run else remove(items)
        document = {"usage": before, "runs": sizes, "items": rows, "freed": freed}
        lines = [
            *usage_lines(before, sizes, rows, None if dry_run else freed),
            *remarks(rows, kept),
        ]
        emit(as_json, document | {"dry_run": dry_run}, lines)
