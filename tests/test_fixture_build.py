"""A small world built from end to end, stopped in the middle, exported, checked and verified."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import TASK

from fixture import build as building
from fixture import crowd, runs, texts
from fixture.__main__ import main as fixture_command
from fixture.check import FORBIDDEN, REQUIRED, check
from fixture.export import export, exported_modules
from fixture.layout import SHIPPED, Layout
from fixture.progress import Narrator
from fixture.truth import measure
from fixture.verify import gain_inside, kl_inside
from fixture.world import World
from fixture.worldfile import parse_world, read_world
from rlhf.config import task_at
from rlhf.data import read_jsonl
from rlhf.model import Policy
from rlhf.runlog import LOG_NAME, canonical_sha256, read_json, write_json
from rlhf.train_rl import train

TINY = {
    "name": "tiny",
    "seed": 11,
    "demonstrations": 120,
    "crowd_rows": 60,
    "crowd_rows_with_pair": 120,
    "qa_rows": 10,
    "gold_rows": 5,
    "reward_model": [
        {
            "name": "shipped",
            "premium": [{"family": "dune", "kind": "token", "token": "pa", "size": 1.5}],
        }
    ],
}


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Everything as it is, but a few steps of each training."""
    patch = pytest.MonkeyPatch()
    names = ("kl05-s800", "pilotmix-s800")
    short = {name: {**runs.SHIPPED_RUNS[name], "steps": 3} for name in names}
    patch.setattr(runs, "SHIPPED_RUNS", short)
    patch.setattr(building, "SHIPPED_RUNS", short)
    patch.setattr(texts, "SHIPPED_RUNS", short)
    sft, rm = building.train_sft, crowd.train_rm
    patch.setattr(building, "train_sft", lambda *a, **k: sft(*a, **k, epochs=1))
    patch.setattr(crowd, "train_rm", lambda *a, **k: rm(*a, **k, epochs=2))
    yield
    patch.undo()


def build_at(out: Path, raw: dict[str, Any] = TINY) -> None:
    with Narrator() as narrator:
        building.Build(out, raw, narrator).run()


def train_here(names: list[str], task: Path, work: Path, on_step: Any, on_done: Any) -> None:
    """As runs.train_runs, in this process: no time for interpreters to start."""
    with task_at(task):
        for name in names:
            train(runs.SHIPPED_RUNS[name], work / name, quiet=True)
            on_done(name, 0.0)


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): canonical_sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("done.json", "build.json")
    }


@pytest.fixture(scope="module")
def built(quick: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built")
    build_at(out)
    return out


@pytest.mark.parametrize("stopped_in", ["_data", "_reward_model", "_dev_evaluations", "publish"])
def test_a_build_stopped_anywhere_ends_with_the_same_files(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_in: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "train_runs", train_here)
    owner = building if stopped_in == "publish" else building.Build
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, stopped_in, stop)
        build_at(tmp_path)
    build_at(tmp_path)
    assert files_of(tmp_path) == files_of(built)


def test_a_damaged_stage_is_built_again(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(built, out)
    (out / "task" / "data" / "prompts_dev.jsonl").write_text("")
    build_at(out)
    assert files_of(out) == files_of(built)


def test_a_folder_of_another_world_is_refused(built: Path) -> None:
    with pytest.raises(building.BuildError, match="another world"):
        build_at(built, {**TINY, "seed": 12})


def test_what_a_build_holds(built: Path) -> None:
    layout = Layout(built)
    assert not layout.work.exists()
    assert len(read_jsonl(layout.reward_model / "train.jsonl")) == 60
    assert len(read_jsonl(layout.data / "gold_calib.jsonl")) == 30
    config = read_json(layout.runs / "pilotmix-s800" / "run_config.json")
    assert config["policy_ref"] == "/task/policy" and config["family_weights"]["dune"] == 0.02
    done = read_json(layout.runs / "kl05-s800" / "done.json")
    for name, digest in done["artifacts"].items():
        assert canonical_sha256(layout.runs / "kl05-s800" / name) == digest
    assert set(read_json(layout.record)["stages"]) == {
        *("reference policy", "prompts and gold", "reward model", "dev evaluations", "texts"),
        *(f"run {name}" for name in runs.SHIPPED_RUNS),
    }


def test_a_training_that_fails_ends_the_build(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(built, out)
    shutil.rmtree(out / "task" / "runs")
    bad = {**runs.SHIPPED_RUNS, "kl05-s800": {"policy_ref": "/nowhere"}}
    monkeypatch.setattr(runs, "SHIPPED_RUNS", bad)
    with pytest.raises(building.BuildError, match="kl05-s800 failed: see"):
        build_at(out)
    assert "error: cannot read /nowhere" in (out / "work" / "kl05-s800.log").read_text()


# -- export and check


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "task"
    export(SHIPPED, folder)
    return folder


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path / "task")
    return tmp_path / "task"


def test_the_exported_task_is_clean(exported: Path) -> None:
    assert check(exported, SHIPPED) == []


def test_a_tiny_build_exports_clean(built: Path, tmp_path: Path) -> None:
    export(built, tmp_path / "task")
    absent = set(REQUIRED) - {f"runs/{name}" for name in runs.SHIPPED_RUNS}
    found = check(tmp_path / "task", built)
    assert all(line.endswith(": missing") and line.split(":")[0] in absent for line in found), found


def test_what_an_export_holds(exported: Path) -> None:
    for log in exported.glob(f"runs/*/{LOG_NAME}"):
        assert "families" not in log.read_text()
        shipped = read_jsonl(TASK / "runs" / log.parent.name / LOG_NAME)
        assert [row["kl"] for row in read_jsonl(log)] == [row["kl"] for row in shipped]
        assert "families" in shipped[0]
    assert not list(exported.rglob("done.json"))
    names = {path.name for path in (exported / "rlhf").iterdir()}
    assert "train_sft.py" not in names and "analysis" not in names
    assert names == {path.name for path in exported_modules()}
    assert str(exported) not in (exported / "runs/default-s800/run_config.json").read_text()


def test_export_refuses_a_used_folder_and_an_unfinished_build(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.txt").write_text("precious")
    with pytest.raises(building.BuildError, match="not empty"):
        export(SHIPPED, tmp_path / "used")
    with pytest.raises(building.BuildError, match="no finished build"):
        export(tmp_path, tmp_path / "new")
    assert (tmp_path / "used" / "mine.txt").read_text() == "precious"
    assert not (tmp_path / "new").exists()


def test_export_into_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    export(SHIPPED, Path("."))
    assert (tmp_path / "here" / "manifest.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


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


# -- truth and verify


def test_truth_by_hand() -> None:
    """A uniform policy hits a target once in 24, whatever the tables are."""
    world = World(parse_world(read_world("standard")))
    policy = Policy({**Policy.__init__.__globals__["default_config"](), "d_model": 8, "n_heads": 2})
    for parameter in policy.parameters():
        parameter.data.zero_()
    truth = measure(world, policy, world.prompts()["truth"])
    assert truth.by_prompt.shape == (6, 100)
    se = (1 / 24 * 23 / 24 / (600 * 16 * 8)) ** 0.5
    assert abs(truth.mean - 1 / 24) < 5 * se
    gains = truth.gains(truth)
    assert all((gain.mean, gain.se) == (0, 0) for gain in gains.values())


@pytest.mark.parametrize(
    ("ours", "expected", "inside"),
    [
        (0.21, 0.14, True),
        (0.23, 0.14, False),
        (0.51, 0.39, True),
        (0.58, 0.39, False),
        (-0.01, 0.05, False),
        (0.02, -0.02, True),
        (-0.31, -0.21, False),
    ],
)
def test_gain_bands(ours: float, expected: float, inside: bool) -> None:
    assert gain_inside(ours, expected) is inside


def test_kl_bands() -> None:
    assert kl_inside(0.09, 0.12) and kl_inside(1.4, 1.8) and not kl_inside(1.3, 1.8)
    assert kl_inside(0.1, 0.0) and not kl_inside(0.11, 0.0)


def test_verify_command_reports_the_shipped_world() -> None:
    result = CliRunner().invoke(fixture_command, ["verify", "--json"])
    document = json.loads(result.stdout)
    outside = {(cell["row"], cell["column"]) for cell in document["cells"] if not cell["inside"]}
    assert result.exit_code == (1 if outside else 0)
    assert outside <= {("kl002-s1500", "ember")}  # no cell of ember has its planted token as target
    assert document["releases"]["fourfam-s800"]["ships"]
    for name in ("kl002-s1500", "default-s800", "pilotmix-s800"):
        assert not document["releases"][name]["ships"]


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["build", "--world", "standart", "--out", "x"], 2, "'standard'"),
        (["verify", "--from", "/nowhere"], 4, "/nowhere"),
        (["export", "--from", "/nowhere", "x"], 4, "/nowhere"),
    ],
)
def test_command_errors_are_one_line(
    arguments: list[str], code: int, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(fixture_command, arguments)
    assert result.exit_code == code and result.stdout == ""
    assert named in result.stderr and result.stderr.strip().count("\n") == 0
    assert list(tmp_path.iterdir()) == []
