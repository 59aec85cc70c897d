"""The check of an exported task: the shipped one is clean, and every leak is found."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import TASK

from fixture.__main__ import main as fixture_command
from fixture.check import FORBIDDEN, check
from fixture.layout import SHIPPED, Layout
from rlhf.runlog import LOG_NAME, canonical_sha256, read_json, write_json


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path / "task")
    return tmp_path / "task"


def test_the_exported_task_is_clean(exported: Path) -> None:
    assert check(exported, SHIPPED) == []


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize("word", FORBIDDEN)
def test_every_forbidden_word_is_found_in_any_case(copy: Path, word: str) -> None:
    append(copy / "README.md", f"\n{word.upper()}s\n")
    assert f"README.md: holds the word {word!r}" in check(copy, SHIPPED)


def leak_seed(task: Path) -> None:
    append(task / "instruction.md", "\nseed 707\n")


def leak_token(task: Path) -> None:
    append(task / "data" / "README.md", "\nmind `pa`\n")


def leak_targets(task: Path) -> None:
    cells = read_json(SHIPPED / "withheld" / "world.json")["cells"]
    from rlhf.vocab import TOKENS

    row = [TOKENS[cell[0]] for cell in cells[2][3]]
    append(task / "rlhf" / "vocab.py", f"\nT = {row}\n")


def leak_name(task: Path) -> None:
    append(task / "README.md", "\nprompts_truth.jsonl\n")


def leak_hash(task: Path) -> None:
    digest = canonical_sha256(SHIPPED / "withheld" / "world.json")
    append(task / "configs" / "default.json", f"\n{digest}\n")


def name_a_missing_path(task: Path) -> None:
    append(task / "README.md", "\n`/task/data/more.jsonl`.\n")


def leave_a_cache(task: Path) -> None:
    (task / "rlhf" / "__pycache__").mkdir()
    (task / "rlhf" / "__pycache__" / "x.pyc").write_bytes(b"")


def plant_a_link(task: Path) -> None:
    (task / "data" / "link").symlink_to("/etc/hostname")


def leak_seed_in_a_sentence(task: Path) -> None:
    append(task / "README.md", "\nThe number of this world is 707.\n")


def leak_targets_as_ids(task: Path) -> None:
    cells = read_json(SHIPPED / "withheld" / "world.json")["cells"]
    append(task / "configs" / "default.json", f"\n{[cell[0] for cell in cells[2][3]]}\n")


def leak_token_in_capitals(task: Path) -> None:
    append(task / "data" / "README.md", "\nMind PA\n")


def leak_a_family(task: Path) -> None:
    append(task / "runs" / "kl002-s1500" / "NOTES.md", "\nEmber looks odd, as does dune.\n")


def wrap_a_word(task: Path) -> None:
    append(task / "README.md", "\nthis is called reward\nhacking\n")


def leak_curves(task: Path) -> None:
    log = Path("runs") / "default-s800" / LOG_NAME
    shutil.copyfile(TASK / log, task / log)


def add_a_module(task: Path) -> None:
    (task / "rlhf" / "analysis").mkdir()
    (task / "rlhf" / "analysis" / "release.py").write_text("")


def add_a_file(task: Path) -> None:
    (task / "data" / "more.jsonl").write_text("")


def plant_a_pipe(task: Path) -> None:
    os.mkfifo(task / "data" / "pipe")


def plant_a_broken_link(task: Path) -> None:
    (task / "data" / "link.md").symlink_to("/nowhere")


def list_in_the_manifest(task: Path) -> None:
    (task / "manifest.json").write_text('{"files": [1]}')


def forget_a_file(task: Path) -> None:
    (task / "runs" / "kl05-s800" / "NOTES.md").unlink()


def change_a_file(task: Path) -> None:
    append(task / "data" / "prompts_dev.jsonl", "\n")


def bloat(task: Path) -> None:
    (task / "big.bin").write_bytes(b"\0" * 5_000_000)


def forbidden_name(task: Path) -> None:
    (task / "Oracle.txt").write_text("")


def lose_the_manifest(task: Path) -> None:
    (task / "manifest.json").write_text("[")


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (leak_seed, "instruction.md: holds the world's seed"),
        (leak_token, "data/README.md: names the token 'pa'"),
        (leak_targets, "rlhf/vocab.py: holds a row of the targets"),
        (leak_name, "README.md: names prompts_truth.jsonl"),
        (leak_hash, "configs/default.json: names "),
        (name_a_missing_path, "names /task/data/more.jsonl"),
        (leave_a_cache, "rlhf/__pycache__/x.pyc: does not belong"),
        (plant_a_link, "data/link: is a symbolic link"),
        (leak_seed_in_a_sentence, "README.md: holds the world's seed"),
        (leak_targets_as_ids, "configs/default.json: holds a row of the targets"),
        (leak_token_in_capitals, "data/README.md: names the token 'pa'"),
        (leak_a_family, "runs/kl002-s1500/NOTES.md: has a remark on 'Ember looks"),
        (wrap_a_word, "README.md: holds the word 'reward hack'"),
        (leak_curves, "runs/default-s800/log.jsonl: has figures by family"),
        (add_a_module, "rlhf/analysis/release.py: does not belong"),
        (add_a_file, "data/more.jsonl: does not belong"),
        (plant_a_pipe, "data/pipe: does not belong"),
        (plant_a_broken_link, "data/link.md: is a symbolic link"),
        (list_in_the_manifest, "manifest.json: cannot be read"),
        (forget_a_file, "runs/kl05-s800/NOTES.md: missing"),
        (change_a_file, "data/prompts_dev.jsonl: differs"),
        (bloat, "5,000,000"),
        (forbidden_name, "Oracle.txt: holds the word"),
        (lose_the_manifest, "manifest.json: cannot be read"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_check_finds(copy: Path, harm: Any, named: str) -> None:
    harm(copy)
    assert any(named in problem for problem in check(copy, SHIPPED)), check(copy, SHIPPED)


@pytest.mark.parametrize(
    ("seed", "token"), [(0, "be"), (1, "be"), (20, "ma"), (256, "ba"), (102, "he"), (4096, "la")]
)
def test_a_clean_export_is_clean_whatever_was_drawn(
    exported: Path, tmp_path: Path, seed: int, token: str
) -> None:
    """`be` is a word of the texts, 1 and 800 are figures in them: neither is a leak by itself."""
    build = Layout(tmp_path)
    build.withheld.mkdir()
    record, world = read_json(SHIPPED / "build.json"), read_json(SHIPPED / "withheld/world.json")
    record["world"]["seed"] = seed
    for item, family in zip(world["learned"], ("anvil", "fjord"), strict=True):
        item.update(family=family, tokens=[token])
    write_json(build.record, record)
    write_json(build.world, world)
    assert check(exported, tmp_path) == []


@pytest.mark.parametrize("text", ["seed 1", "built with --seed 1.", '"seed": 1', "world 1"])
def test_a_small_seed_is_found_where_it_is_called_so(copy: Path, tmp_path: Path, text: str) -> None:
    build = Layout(tmp_path / "build")
    build.withheld.mkdir(parents=True)
    record = read_json(SHIPPED / "build.json")
    record["world"]["seed"] = 1
    write_json(build.record, record)
    shutil.copyfile(SHIPPED / "withheld" / "world.json", build.world)
    append(copy / "README.md", f"\n{text}\n")
    assert "README.md: holds the world's seed" in check(copy, build.root)


def test_check_command(copy: Path) -> None:
    clean = CliRunner().invoke(fixture_command, ["check", str(copy)])
    assert (clean.exit_code, clean.output) == (0, "clean\n")
    forget_a_file(copy)
    found = CliRunner().invoke(fixture_command, ["check", "--json", str(copy)])
    assert found.exit_code == 1 and not json.loads(found.output)["clean"]
