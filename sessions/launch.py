"""Starting what takes time: the record is written, the run joins the line, the line moves."""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlhf.runlog import replace_file, write_json

from . import queue
from .errors import writing
from .ids import claim_folder, slug
from .inputs import hash_code, hash_files
from .paths import RUN_RECORD, Workspace
from .plan import Plan
from .record import Record, new_record
from .rundir import wrapper_source
from .supervise import ensure_supervisor

SETTINGS = "launch_config.json"  # what the trainer is given; it writes run_config.json itself
WRAPPER = "wrapper.py"
TRAINER = (sys.executable, "-P", "-m", "rlhf.train_rl")


def launch(
    workspace: Workspace,
    task: Path,
    plans: Sequence[Plan],
    parent: str | None = None,
    trainer: Sequence[str] = TRAINER,
    **fields: Any,
) -> list[str]:
    """Queue one run per plan, see that a supervisor is there, and return their ids.

    `fields` go into each record. Raises SessionError; runs already queued then stay queued.
    """
    code, workspace = hash_code(), Workspace(workspace.root.absolute())
    position = queue.end_of_line(workspace)
    sweep = f"{slug(plans[0].name)[:40]}-{secrets.token_hex(4)}" if len(plans) > 1 else None
    identifiers: list[str] = []
    for plan in plans:
        draft = _Draft(workspace, task, plan, list(trainer), position + len(identifiers))
        draft.fields = {"parent": parent, "sweep": sweep, "code": code, "validate": True, **fields}
        identifiers.append(claim_folder(workspace, workspace.runs, plan.name, draft.fill))
        queue.see_to(workspace, identifiers[-1], draft.position)
    ensure_supervisor(workspace)
    return identifiers


class _Draft:
    """The files of one run that is about to appear in the workspace."""

    def __init__(
        self, workspace: Workspace, task: Path, plan: Plan, trainer: list[str], position: float
    ) -> None:
        self.workspace = workspace
        self.task = task
        self.plan = plan
        self.trainer = trainer
        self.position = position
        self.fields: dict[str, Any] = {}

    def fill(self, identifier: str, draft: Path, final: Path) -> None:
        """Write the files into `draft`. The place in line comes first: no run without one."""
        config, inputs = dict(self.plan.config), dict(self.plan.inputs)
        with writing(draft):
            if self.plan.wrapper is not None:
                replace_file(draft / WRAPPER, self.plan.wrapper)
                inputs["reward_wrapper"] = {
                    "path": str(final / WRAPPER),
                    "sha256": hash_files([draft / WRAPPER]),
                    "source": wrapper_source(config["reward_wrapper"]),
                }
                config["reward_wrapper"] = str(final / WRAPPER)
            write_json(draft / SETTINGS, config)
            write_json(draft / RUN_RECORD, self._record(identifier, config, inputs, final))
        queue.add(self.workspace, identifier, self.position)

    def _record(
        self, identifier: str, config: dict[str, Any], inputs: dict[str, Any], final: Path
    ) -> Record:
        command = [*self.trainer, "--config", str(final / SETTINGS), "--out", str(final)]
        return new_record(
            "run",
            self.plan.name,
            command,
            id=identifier,
            env={"TASK": str(self.task)},
            config=config,
            seed=config["seed"],
            inputs=inputs,
            **self.fields,
        )


def launch_job(
    workspace: Workspace, kind: str, name: str, command: Sequence[str], task: Path, **fields: Any
) -> str:
    """Queue a job (a grade, a build, a diagnosis: any command that ends) and return its id.

    Its shim writes done.json from the command's exit code. Raises SessionError.
    """
    workspace = Workspace(workspace.root.absolute())
    position = queue.end_of_line(workspace)

    def fill(identifier: str, draft: Path, final: Path) -> None:
        env = {"TASK": str(task)}
        record = new_record(kind, name, list(command), id=identifier, env=env, **fields)
        with writing(draft):
            write_json(draft / RUN_RECORD, record)
        queue.add(workspace, identifier, position)

    identifier = claim_folder(workspace, workspace.jobs, name, fill)
    queue.see_to(workspace, identifier, position)
    ensure_supervisor(workspace)
    return identifier
