"""`rlhf-tui runs`: its document, its table, its cache, and damaged runs."""

import csv
import io
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import SHIPPED, Console, write_run

from rlhf.vocab import FAMILIES

R_KEYS = {
    *("id", "kind", "name", "source", "state", "reason", "step", "steps", "kl_coef", "mix"),
    *("wrapper", "seed", "parent", "sweep", "tags", "created", "started", "ended", "dev", "eval"),
    *("balanced", "families", "train", "quality", "verdict", "nonfinite"),
}


def document(console: Console, *words: str) -> dict:
    result = console.run("runs", "--json", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_document_has_the_contract_s_keys(console: Console) -> None:
    found = document(console)
    assert found.keys() == {"format", "task", "total", "truncated", "problems", "runs"}
    assert [run["id"] for run in found["runs"]] == ["reference", *sorted(SHIPPED)]
    assert all(run.keys() == R_KEYS for run in found["runs"])
    assert (found["format"], found["total"], found["truncated"]) == (1, 6, False)


def test_figures_come_from_the_files(console: Console) -> None:
    runs = {run["id"]: run for run in document(console)["runs"]}
    reference, pilot = runs["reference"], runs["pilotmix-s800"]
    assert (reference["kl_coef"], reference["steps"], reference["dev"]) == (None, 0, None)
    assert pilot["dev"] == {"proxy": 0.55, "kl": 0.9}
    assert pilot["mix"]["dune"] == pytest.approx(0.02)
    assert set(runs["fourfam-s800"]["mix"]) == {"anvil", "birch", "cobalt", "fjord"}
    assert pilot["eval"] == {"prompts": 200, "n": 4, "seed": 0}
    assert set(pilot["families"]) == set(FAMILIES)
    assert pilot["families"]["dune"]["kl"].keys() == {"mean", "se", "n"}
    assert pilot["train"]["step"] == 800


def test_table_fits_80_columns_and_names_kl(console: Console) -> None:
    lines = console.run("runs").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(line.startswith(name) for line in lines) for name in SHIPPED)
    assert "k1" in lines[-1] and "nats" in lines[-1]
    assert sum("±" in line for line in lines) >= 12


def test_csv_holds_every_figure_with_its_error(console: Console) -> None:
    figures = {run["id"]: run for run in document(console)["runs"]}
    rows = list(csv.DictReader(io.StringIO(console.run("runs", "--csv").stdout)))
    assert len(rows) == 6
    for row in rows:
        dune = figures[row["id"]]["families"]["dune"]["kl"]
        assert float(row["dune.kl"]) == dune["mean"] and float(row["dune.kl.se"]) == dune["se"]


def test_filter_sort_and_limit(console: Console) -> None:
    found = document(
        console, "--filter", "kl<0.2 !name~^pilot", "--sort", "-dev.proxy", "--limit", "2"
    )
    assert [run["id"] for run in found["runs"]] == ["kl002-s1500", "default-s800"]
    assert (found["total"], found["truncated"]) == (3, True)


def test_an_evaluation_is_made_once_per_content(console: Console) -> None:
    document(console)
    document(console)
    assert console.evaluated() == 6
    policy = console.task / "runs" / "default-s800" / "policy.safetensors"
    policy.write_bytes(policy.read_bytes() + b"!")
    document(console)
    assert console.evaluated() == 7
    (console.task / "reward_model" / "rm.safetensors").write_bytes(b"another rm")
    document(console)
    assert console.evaluated() == 13


def test_the_evaluator_gets_task_and_one_thread(console: Console) -> None:
    document(console)
    assert {tuple(line.split()[2:]) for line in console.calls.read_text().splitlines()} == {
        (str(console.task), "1")
    }


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"families": {}}', b"\xff\x00"])
def test_a_damaged_cache_entry_is_measured_again(console: Console, damage: bytes) -> None:
    before = document(console)
    for entry in (console.place / "cache").rglob("eval/*.json"):
        entry.write_bytes(damage)
    assert document(console) == before
    assert console.evaluated() == 12


def test_workspace_runs_keep_their_evaluation_with_them(console: Console) -> None:
    write_run(console.workspace / "runs" / "mine")
    found = {run["id"]: run for run in document(console)["runs"]}
    assert found["mine"]["source"] == "workspace" and found["mine"]["balanced"]
    assert len(list((console.workspace / "runs" / "mine" / "eval").glob("*.json"))) == 1


def test_added_folders_are_shown_in_place(console: Console, tmp_path: Path) -> None:
    write_run(tmp_path / "elsewhere" / "theirs")
    result = console.run("--runs", str(tmp_path / "elsewhere"), "runs", "--json")
    theirs = json.loads(result.stdout)["runs"][-1]
    assert (theirs["id"], theirs["source"]) == ("theirs", "added")
    assert not (tmp_path / "elsewhere" / "theirs" / "eval").exists()


def test_what_is_shown_already_is_not_added_and_never_shown_twice(console: Console) -> None:
    known = [run["id"] for run in document(console)["runs"]]
    theirs = write_run(console.place / "elsewhere" / "theirs")
    (theirs.parent / "again").symlink_to(console.task / "runs" / known[1])
    refused = console.run("add", str(console.task / "runs"))
    assert refused.returncode == 2 and "is shown already" in refused.stderr
    done = console.run("add", str(theirs.parent))
    assert (done.returncode, done.stderr) == (0, "shown once, as before: again\n")
    assert [run["id"] for run in document(console)["runs"]] == [*known, "theirs"]
    kept = console.run("rm", "theirs", "--yes")
    assert kept.returncode == 2 and f"(rlhf-tui add --remove {theirs.parent})" in kept.stderr


def test_what_is_no_longer_shown_is_told(console: Console) -> None:
    first, second = (console.place / place for place in ("one", "two"))
    for place in (first, second):
        write_run(place / "theirs")
        console.run("add", str(place))
    done = console.run("add", "--remove", str(first))
    said = f"no longer shown: {first}; its files stay\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{second}\n", said)
    again = console.run("add", "--remove", str(first))
    assert again.returncode == 2 and f"was not added here (added are {second})" in again.stderr
    told = json.loads(console.run("add", "--remove", str(second), "--json").stdout)
    assert told == {"format": 1, "folders": [], "removed": str(second)}
    assert "(no folder was added)" in console.run("add", "--remove", str(second)).stderr


def test_read_only_measures_and_writes_nothing(console: Console) -> None:
    result = console.run("--read-only", "runs", "--json")
    assert json.loads(result.stdout)["runs"][0]["balanced"] is None
    assert not console.workspace.exists() and console.evaluated() == 0


def test_a_failed_evaluation_is_a_problem_with_its_last_words(console: Console) -> None:
    result = console.run("runs", "--json", EVALUATE_MODE="fail")
    problems = json.loads(result.stdout)["problems"]
    assert result.returncode == 0 and len(problems) == 6
    assert "expected 64, found 32" in problems[0]["message"]


def test_a_figure_that_is_not_finite_is_null_and_named(console: Console) -> None:
    result = console.run("runs", "--json", EVALUATE_MODE="nan")
    run = json.loads(result.stdout)["runs"][1]
    assert run["families"]["dune"]["kl"]["mean"] is None
    assert run["nonfinite"] == ["dune.kl"]


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "term"]
)
def test_interrupting_ends_the_child_and_keeps_nothing(
    console: Console, sent: signal.Signals, code: int
) -> None:
    command = console.start("runs", "--json", EVALUATE_MODE="hang")
    _until(lambda: console.evaluated() == 1)
    time.sleep(0.3)
    command.send_signal(sent)
    out, err = command.communicate(timeout=20)
    child = int(console.calls.read_text().split()[0])
    assert command.returncode == code
    assert json.loads(out)["error"]["kind"] in ("interrupted", "terminated")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert not list((console.place / "cache").rglob("eval/*"))


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


DAMAGED: dict[str, Callable[[Path], object]] = {
    "no config": lambda run: (run / "run_config.json").unlink(),
    "a torn config": lambda run: (run / "run_config.json").write_text('{"kl_coef": 0.'),
    "a config that is a list": lambda run: (run / "run_config.json").write_text("[1]"),
    "a kl_coef that is a text": lambda run: (run / "run_config.json").write_text('{"kl_coef":"x"}'),
    "a huge integer": lambda run: (run / "run_config.json").write_text(
        '{"steps": 1%s}' % ("0" * 400)
    ),
    "an empty log": lambda run: (run / "log.jsonl").write_text(""),
    "a torn log": lambda run: (run / "log.jsonl").write_text('{"step": 20, "kl"'),
    "a log of scalars": lambda run: (run / "log.jsonl").write_text("1\n2\n"),
    "a log in another encoding": lambda run: (run / "log.jsonl").write_bytes(b"\xff\xfe\n\x80"),
    "dev_eval with NaN": lambda run: (run / "dev_eval.json").write_text('{"proxy_mean": NaN}'),
    "a deep dev_eval": lambda run: (run / "dev_eval.json").write_text("[" * 100_000),
    "a folder for a log": lambda run: ((run / "log.jsonl").unlink(), (run / "log.jsonl").mkdir()),
}


@pytest.mark.parametrize("spoil", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_stays_listed(console: Console, spoil: Callable[[Path], object]) -> None:
    spoil(console.task / "runs" / "default-s800")
    result = console.run("runs", "--json")
    assert result.returncode == 0, result.stderr
    assert [run["id"] for run in json.loads(result.stdout)["runs"]][1] == "default-s800"
    assert "Traceback" not in console.run("runs").stderr


@pytest.mark.parametrize("name", ["[/]", "[b", "\x1b]0;x\x07evil", "a\nb", "漢字", "x" * 10_000])
def test_hostile_names_reach_the_terminal_clean(console: Console, name: str) -> None:
    folder = write_run(console.workspace / "runs" / "hostile")
    (folder / "run.json").write_text(json.dumps({"name": name}))
    result = console.run("runs")
    assert result.returncode == 0
    assert not any(ord(c) < 32 and c != "\n" for c in result.stdout)
    assert result.stdout.isprintable() or "\x1b" not in result.stdout
    assert document(console)["runs"][-1]["name"] == name
