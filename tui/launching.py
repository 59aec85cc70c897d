"""What `launch`, `clone` and `replay` do: plan, show or queue, and follow to the end."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sessions import progress, queue
from sessions.afterwards import VERDICT
from sessions.catalogue import Listing
from sessions.evidence import state_of
from sessions.launch import launch
from sessions.log_follow import Follower
from sessions.paths import OUTPUT_LOG, Workspace
from sessions.plan import Plan, Request, Sweep, make_plans, make_sweep
from sessions.record import load
from sessions.runfiles import read_object
from sessions.states import LIVE, State
from sessions.supervisor import cores
from sessions.wait import POLL_S, wait

from .acting import Found, acting, emit, find, narrate
from .exits import CommandError, Exit
from .launch_options import axes_of
from .launch_preview import NAMED, told
from .place import Place


def start(
    place: Place, options: Mapping[str, Any], as_json: bool, parent: Found | None = None
) -> int:
    """Queue what the options ask for, or with dry_run say what it would be; an exit code."""
    dry = options["dry_run"]
    with acting(place, changes=not dry) as workspace:
        plans = make_plans(_request(place, options, parent), place.task.absolute())
        if dry:
            _show_plans(workspace, place.task, plans, as_json)
            return Exit.OK
        _warn(plans)
        ids = launch(workspace, place.task.absolute(), plans, parent.id if parent else None)
        tell_if_paused(workspace)
        if not (options["wait"] or options["follow"]):
            emit(as_json, {"runs": ids}, ids)
            return Exit.OK
        if not as_json:
            print("\n".join(ids), flush=True)
        folders = [workspace.runs / identifier for identifier in ids]
        return conclude(workspace, folders, as_json, options["follow"])


def planned(
    place: Place, options: Mapping[str, Any], parent: str | None, folders: Mapping[str, Path]
) -> Sweep:
    """What the options would start, checked. `folders` are those of the listed runs, by id."""
    listing = Listing(folders=dict(folders))
    with acting(place, changes=False):
        found = None if parent is None else find(place, parent, listing)
        return make_sweep(_request(place, options, found, listing), place.task.absolute())


def _warn(plans: Sequence[Plan]) -> None:
    for wrapper in dict.fromkeys(plan.config["reward_wrapper"] for plan in plans):
        if wrapper is not None:
            narrate(f"note: {wrapper} is your own code and runs with your rights")


def tell_if_paused(workspace: Workspace) -> None:
    """Say that what was queued starts only once the line goes on, if it stands."""
    if queue.paused(workspace):
        narrate("the line is paused, so nothing starts: rlhf-tui jobs go lets it go on")


def tell_of_replay(workspace: Workspace, task: Path, identifier: str) -> None:
    """Say how long a replay that was queued takes, before it is waited for."""
    config = (load(workspace.runs / identifier) or {}).get("config")
    if config is None:  # it is gone again: the waiting says so
        return
    pace = progress.pace(workspace, task)
    takes = told(progress.expected_seconds(config, pace) if pace else None, pace)
    narrate(f"{identifier}: {config['steps']} steps, {takes}; --no-wait does not wait for them")


def tell_of_waiting(workspace: Workspace, folders: Sequence[Path]) -> None:
    """Say what is waited for; nothing if all of it has ended."""
    states = {folder.name: state_of(folder).state for folder in folders}
    living = [f"{name} ({state})" for name, state in states.items() if state in LIVE]
    if living:
        more = f" and {len(living) - NAMED} more" if len(living) > NAMED else ""
        narrate(f"waiting for {', '.join(living[:NAMED])}{more}; Ctrl-C ends the waiting alone")
    if "queued" in states.values():
        tell_if_paused(workspace)


def _request(
    place: Place,
    options: Mapping[str, Any],
    parent: Found | None,
    listing: Listing | None = None,
) -> Request:
    axes = axes_of(options)
    init = axes.get("policy_init", [None])[0]
    if isinstance(init, str) and not Path(init).exists() and not init.startswith("/task"):
        try:
            axes["policy_init"] = [str(find(place, init, listing).folder)]
        except CommandError as error:  # so that it is told, and marked in the form, what is wrong
            error.message = f"policy_init: {error.message}"
            raise
    if parent is None:
        return Request(axes, name=options["name"])
    record = load(parent.folder) or {}
    config = record.get("config") or read_object(parent.folder / "run_config.json", [])
    if not config:
        message = f"{parent.id} has no run_config.json: there is nothing to clone"
        raise CommandError(Exit.INVALID, message, parent.folder)
    name = record.get("name") or parent.id
    return Request(axes, config, options["name"], parent.id, name)


def conclude(workspace: Workspace, folders: Sequence[Path], as_json: bool, follow: bool) -> int:
    """Wait for the end, showing the output if asked; 0 if all finished, else 1."""
    outputs = {folder.name: Follower(folder / OUTPUT_LOG) for folder in folders}
    try:
        states = wait(workspace, folders, each=lambda now: _pass_on(outputs) if follow else None)
    except BaseException:
        narrate("what was queued goes on: rlhf-tui jobs")
        raise
    if follow:
        _pass_on(outputs)
    return report(states, as_json)


def _pass_on(outputs: Mapping[str, Follower]) -> None:
    for identifier, output in outputs.items():
        label = f"{identifier}: " if len(outputs) > 1 else ""
        for line in output.poll().lines:
            narrate(label + line.text)


def report(states: Mapping[str, State], as_json: bool) -> int:
    """Say how runs stand; 0 if all finished, else 1."""
    rows = [{"id": name, **state._asdict()} for name, state in states.items()]
    if as_json:
        emit(True, {"runs": rows}, ())
    else:
        for name, state in states.items():
            narrate(f"{name}: {state.state}" + (f", {state.reason}" if state.reason else ""))
    return Exit.OK if all(s.state == "finished" for s in states.values()) else Exit.NO


def _show_plans(workspace: Workspace, task: Path, plans: Sequence[Plan], as_json: bool) -> None:
    pace = progress.pace(workspace, task)
    each = [progress.expected_seconds(plan.config, pace) for plan in plans] if pace else []
    total = progress.sweep_seconds(each, cores()) if each else None
    seconds: Sequence[float | None] = each or [None] * len(plans)
    rows = [
        {"name": plan.name, "config": plan.config, "seconds": time_}
        for plan, time_ in zip(plans, seconds, strict=True)
    ]
    lines = [f"{plan.name}  {_minutes(t)}" for plan, t in zip(plans, seconds, strict=True)]
    about = {"cores": cores(), "seconds": total, "startup_s": pace.beside if pace else None}
    emit(as_json, {"dry_run": True, **about, "runs": rows}, lines)
    if not as_json:
        sys.stdout.flush()
        takes = told(total, pace)
        narrate(f"{len(rows)} run(s) on {cores()} core(s), {takes}; nothing was started")


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def await_verdict(workspace: Workspace, identifier: str, as_json: bool) -> int:
    """Wait for a replay's end and for its verdict; 0 if it came out the same."""
    folder = workspace.runs / identifier
    states = wait(workspace, [folder])
    if states[identifier].state != "finished":
        return report(states, as_json)
    while not (folder / VERDICT).exists():
        wait(workspace, [folder])  # sees that the supervisor, which compares, is there
        time.sleep(POLL_S)
        if state_of(folder).state not in (*LIVE, "finished"):
            raise CommandError(Exit.UNABLE, f"{identifier} disappeared", folder)
    verdict = read_object(folder / VERDICT, []) or {}
    emit(as_json, verdict, _told(verdict))
    return Exit.OK if verdict.get("same") else Exit.NO


def _told(verdict: Mapping[str, Any]) -> list[str]:
    pair = f"{verdict.get('replay')} and {verdict.get('of')}"
    lines = [f"{pair}: {'the same' if verdict.get('same') else 'different'}"]
    lines += [f"differs: {item}" for item in verdict.get("differs") or []]
    lines += [f"changed since: {item}" for item in verdict.get("inputs_changed") or []]
    if verdict.get("code_changed"):
        lines.append("changed since: the code of rlhf")
    if not verdict.get("same_machine"):
        lines.append("the original is not known to be from this machine: equality is no promise")
    for metric, value in (verdict.get("bounds") or {}).items():
        if value is not None:
            lines.append(f"largest difference in {metric}: {value:.3g}")
    return lines
