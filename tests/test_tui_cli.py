"""The command line itself: usage, a broken task, a closed pipe, and no torch."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import Console

from tui.fields import FIELDS

BROKEN: dict[str, Callable[[Path], object]] = {
    "missing task folder": shutil.rmtree,
    "no policy": lambda task: (task / "policy" / "policy.safetensors").unlink(),
    "empty reward model": lambda task: (task / "reward_model" / "rm.safetensors").write_text(""),
    "no prompts": lambda task: (task / "data" / "prompts_train.jsonl").unlink(),
    "a file in its place": lambda task: (shutil.rmtree(task), task.write_text("x")),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_broken_task_is_one_line_and_exit_3(
    console: Console, spoil: Callable[[Path], object]
) -> None:
    spoil(console.task)
    text, as_json = console.run("runs"), console.run("runs", "--json")
    assert (text.returncode, text.stdout, text.stderr.count("\n")) == (3, "", 1)
    assert str(console.task) in text.stderr and "--task" in text.stderr
    error = json.loads(as_json.stdout)["error"]
    assert as_json.returncode == 3 and error.keys() == {"kind", "message", "path", "fix"}


@pytest.mark.parametrize(
    "words",
    [["runs", "--nope"], ["nope"], ["runs", "--limit", "x"], ["runs", "--filter", "dume.kl>1"]],
)
def test_usage_errors_are_exit_2_and_one_document(console: Console, words: list[str]) -> None:
    text, as_json = console.run(*words), console.run(*words, "--json")
    assert (text.returncode, text.stdout, text.stderr.count("\n")) == (2, "", 1)
    assert as_json.returncode == 2 and json.loads(as_json.stdout)["error"]["kind"] == "usage"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("launch", "--families", "dune", "--families", "ember"), "--families a,b"),
        (("clone", "kl05-s800", "--weights=dune=0", "--weights=ember=0"), "--weights dune=0"),
        (("launch", "--save-every", "1", "--save-every", "1"), "--save-every X"),
        (("tails", "kl05-s800", "--family", "dune", "--family", "ember"), "--family F"),
        (("decide", "kl05-s800", "hold", "--reason", "a", "--reason", "b"), "--reason TEXT"),
    ],
)
def test_an_option_of_one_value_is_not_taken_twice(
    console: Console, words: tuple[str, ...], said: str
) -> None:
    done = console.run(*words)
    told = f"rlhf-tui: {said.split()[0]} was given twice (once, as in {said}"
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(told)
    assert not console.workspace.exists(), "nothing was queued or put on record"


def test_the_help_that_an_unknown_field_points_to_names_the_fields(console: Console) -> None:
    assert "(see rlhf-tui runs --help)" in console.run("runs", "--filter", "foo>5").stderr
    told = console.run("runs", "--help").stdout.rpartition("sort by:")[2].split()
    assert told == list(FIELDS)


def test_a_closed_pipe_is_no_error(console: Console) -> None:
    console.run("runs")
    command = console.start("runs", "--json")
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    assert command.stderr.read() == "" and command.wait(60) == 0
    command.stderr.close()


@pytest.mark.parametrize("words", [["--help"], ["runs"]], ids=["help", "runs"])
def test_torch_stays_unloaded(console: Console, words: list[str]) -> None:
    console.run("runs")
    program = console.command(*words)[2].replace(
        "main()", "\ntry: main()\nexcept SystemExit: print(sorted(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "--task", str(console.task), *words]
    console.command = lambda *_: command  # type: ignore[method-assign]
    loaded = console.run().stderr
    assert "'click'" in loaded and "'torch'" not in loaded and "'textual'" not in loaded
