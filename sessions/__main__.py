"""`python -m sessions ...`: the processes that the rest of this package starts. Not for people."""

import os
import sys
from pathlib import Path

import click

from .errors import SessionError
from .paths import Workspace


@click.group()
def main() -> None:
    """Processes that sessions starts for itself."""


@main.command()
@click.argument("workspace", type=click.Path(path_type=Path))
@click.option("--detach", is_flag=True, help="Go on in the background; return at once.")
def supervise(workspace: Path, detach: bool) -> None:
    """Run a workspace's queue."""
    from . import supervisor

    if detach and os.fork():
        os._exit(0)
    if detach:
        os.setsid()
        os.chdir("/")
    supervisor.supervise(Workspace(workspace))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("attempt", type=int)
def execute(folder: Path, attempt: int) -> None:
    """Become the run of a folder."""
    from . import child

    try:
        code = child.execute(folder, attempt)
    except SessionError as error:
        click.echo(f"{folder.name}: {error}", err=True)
        code = error.exit_code
    sys.exit(code)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def compare(folder: Path) -> None:
    """Compare a replay with the run it repeats."""
    from . import replay

    replay.record_verdict(folder)


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("pattern")
@click.option("--invert", is_flag=True)
@click.option("--follow", is_flag=True)
@click.option("--newest", is_flag=True)
@click.option("--rows", is_flag=True)
@click.option("--torn", is_flag=True)
def search(path: Path, pattern: str, **how: bool) -> None:
    """Print the lines of a log that match."""
    from . import log_search

    log_search.run_search(path, pattern, **how)


if __name__ == "__main__":
    main()
