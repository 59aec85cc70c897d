"""What the commands that act on runs share: finding them, asking first, and saying how it went."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from sessions.errors import SessionError
from sessions.ids import ID
from sessions.paths import RUN_RECORD, Workspace

from .exits import CommandError, Exit
from .place import Place

if TYPE_CHECKING:
    from sessions.catalogue import Listing


class Once(click.Option):
    """An option of one value: given twice it is refused, else the first would be lost silently."""

    def __init__(self, names: Sequence[str], **more: Any) -> None:
        super().__init__(names, multiple=True, **more)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, None if there is none. Raises CommandError."""
        given = super().process_value(ctx, value)
        if len(given) > 1:
            name = self.opts[0]
            fix = f"once, as in {name} {self.make_metavar(ctx)}"
            raise CommandError(Exit.USAGE, f"{name} was given twice", fix=fix)
        return given[0] if given else None


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
reward_model_option = click.option(
    "--reward-model",
    "scorer",
    default="task",
    show_default=True,
    metavar="task|run|DIR",
    help="Whose reward model scores: the task's, the one RUN was trained with, or another.",
)
One = TypeVar("One")
Done = TypeVar("Done")


def evaluate_option(what: str) -> Callable[[Any], Any]:
    """How many of `what` a command may measure at most; each takes seconds."""
    return click.option(
        "--evaluate",
        default=24,
        show_default=True,
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Measure at most N {what}.",
    )


class Found(NamedTuple):
    """A run or job that was named: its id and its folder."""

    id: str
    folder: Path


@contextmanager
def acting(place: Place, changes: bool = True) -> Iterator[Workspace]:
    """The workspace, for a command that `changes` it or only looks; its errors become ours."""
    if changes and place.read_only:
        raise CommandError(Exit.USAGE, "nothing is changed under --read-only")
    os.environ["TASK"] = str(place.task.absolute())
    try:
        yield Workspace(place.workspace.absolute())
    except SessionError as error:
        raise _command_error(error) from error


def find(place: Place, name: str, listing: "Listing | None" = None) -> Found:
    """The run or job that `name` means: id, unique prefix or folder. Raises CommandError.

    Looks in `listing`, if there is one already, rather than in every folder.
    """
    workspace = Workspace(place.workspace.absolute())
    if ID.match(name):
        for parent in (workspace.runs, workspace.jobs):
            if (parent / name / RUN_RECORD).is_file():
                return Found(name, parent / name)
    from sessions.catalogue import find as find_run

    listing = listing or place.catalogue().scan()
    try:
        identifier = find_run(listing, name)
    except LookupError as error:
        raise CommandError(Exit.USAGE, str(error.args[0])) from None
    return Found(identifier, listing.folders[identifier].absolute())


def find_all(place: Place, names: Iterable[str]) -> list[Found]:
    """All that are named, each once, in order. Raises CommandError if one is unknown."""
    return list(dict.fromkeys(find(place, name) for name in names))


def need_policy(runs: Iterable[Found]) -> None:
    """Raises CommandError, with what helps, for the first run that has no policy yet."""
    from sessions.unready import policy_lack

    for run in runs:
        if lack := policy_lack(run.folder, run.id):
            raise CommandError(Exit.NO, f"{run.id} is {lack}", run.folder)


class Several:
    """One action on several things: what can be done is done, and each refusal is kept."""

    def __init__(self) -> None:
        self._refusals: list[tuple[str, CommandError]] = []

    def each(self, things: Iterable[One], act: Callable[[One], Done]) -> list[Done]:
        """What `act` made of those that it does not refuse, in order, each thing once."""
        done = []
        for thing in dict.fromkeys(things):
            name = thing.id if isinstance(thing, Found) else str(thing)
            try:
                done.append(act(thing))
            except CommandError as error:
                self._refusals.append((name, error))
            except SessionError as error:
                self._refusals.append((name, _command_error(error)))
            except OSError as error:  # it went away meanwhile
                reason = f"{name}: {error.strerror or error}"
                self._refusals.append((name, CommandError(Exit.UNABLE, reason)))
        return done

    def find(self, place: Place, names: Iterable[str]) -> list[Found]:
        """All that are known, each once. Raises CommandError if none is."""
        found = list(dict.fromkeys(self.each(names, lambda name: find(place, name))))
        self._refuse_all(found)
        return found

    def emit(
        self, as_json: bool, key: str, done: list[Any], lines: Iterable[str], **more: Any
    ) -> None:
        """Print what was done and what was refused, and exit 1 if anything was.

        Raises CommandError, with the first refusal's code, if nothing was done.
        """
        self._refuse_all(done)
        refused = [{"id": name, "message": str(error)} for name, error in self._refusals]
        emit(as_json, {key: done, "refused": refused, **more}, lines)
        for name, error in self._refusals:
            narrate(f"{name} refused: {error.line().removeprefix('rlhf-tui: ')}")
        if refused:
            click.get_current_context().exit(Exit.NO)

    def _refuse_all(self, done: list[Any]) -> None:
        if self._refusals and not done:
            first = self._refusals[0][1]
            told = "; ".join(str(error) for _, error in self._refusals)
            raise CommandError(first.code, told, first.path, first.fix)


def _command_error(error: SessionError) -> CommandError:
    return CommandError(Exit(error.exit_code), str(error), error.path, error.fix)


def confirm(question: str, yes: bool) -> None:
    """Ask at the terminal, unless --yes. Raises CommandError if nobody can answer, Abort on no."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(Exit.USAGE, "without a terminal this needs --yes")
    click.confirm(question, abort=True, err=True)


def emit(as_json: bool, document: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Print the document, or the lines, made safe to show."""
    from .render import clean, document_text

    if as_json:
        print(document_text({"format": 1, **document}))
        return
    for line in lines:
        print(clean(line))


def narrate(line: str) -> None:
    """One line on stderr for the person watching."""
    from .render import clean

    print(clean(line), file=sys.stderr, flush=True)
