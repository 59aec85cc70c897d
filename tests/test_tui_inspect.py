"""`show` and `compare` print the facts of `runs`."""

import csv
import io
import json

import pytest
from synthetic import Console, write_run


def document(console: Console, *words: str) -> dict:
    result = console.run(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_show_is_what_runs_says_and_more(console: Console) -> None:
    listed = {run["id"]: run for run in document(console, "runs")["runs"]}
    shown = document(console, "show", "kl002")
    assert {key: shown[key] for key in listed["kl002-s1500"]} == listed["kl002-s1500"]
    more = {"config", "command", "hashes", "host", "pid", "files", "checkpoints", "validation"}
    assert more | {"notes"} <= shown.keys()
    assert shown["config"]["kl_coef"] == 0.02 and "policy.safetensors" in shown["files"]
    figures = console.run("show", "kl002").stdout.split("FIGURES")[1].splitlines()
    counts = {line.split()[0]: line.split()[-1] for line in figures}
    assert (counts["dune"], counts["balanced"], counts["dev"]) == ("800", "4800", "-")
    assert figures[0].endswith(" n") and "±: one standard error" in figures[-1]


def test_compare_names_what_differs_and_every_figure(console: Console) -> None:
    document(console, "runs")
    found = document(console, "compare", "kl002", "default")
    assert found["differences"]["kl_coef"] == {"kl002-s1500": 0.02, "default-s800": 0.1}
    assert "seed" not in found["differences"]
    assert [run["id"] for run in found["runs"]] == ["kl002-s1500", "default-s800"]
    rows = list(
        csv.DictReader(io.StringIO(console.run("compare", "kl002", "default", "--csv").stdout))
    )
    by_figure = {row["figure"]: row for row in rows}
    wanted = found["runs"][0]["families"]["dune"]["kl"]["mean"]
    assert float(by_figure["dune.kl"]["kl002-s1500"]) == wanted
    text = console.run("compare", "kl002", "default").stdout
    assert "kl_coef" in text and "dune.kl" in text and "±: one standard error" in text
    cells = {line.split()[0]: line.split()[1:] for line in text.split("figure")[1].splitlines()}
    assert [cells["dune.kl"][at] for at in (1, 3)] == ["n=800"] * 2
    assert cells["balanced.proxy"][1] == "n=4800" and len(cells["dev.proxy"]) == 2


def test_compare_knows_a_run_that_never_began_and_one_file_by_one_name(console: Console) -> None:
    own = console.workspace / "runs"
    write_run(own / "own", policy_ref=str(console.task / "policy"), lr=1e-3)
    write_run(own / "same", policy_ref="/task/policy", lr=1e-3)
    (own / "held").mkdir()
    (own / "held" / "run.json").write_text(json.dumps({"config": {"kl_coef": 0.3, "lr": 1e-3}}))
    assert document(console, "compare", "own", "same")["differences"] == {}
    assert "do not differ" in console.run("compare", "own", "same").stdout
    found = document(console, "compare", "own", "held")["differences"]
    assert found["kl_coef"] == {"own": 0.1, "held": 0.3}
    for words in (["own", "reference"], ["own"]):
        text = console.run("compare", *words).stdout
        assert "do not differ" not in text and "the reference has none" in text


def test_wrappers_are_told_by_the_file_they_were_copied_from_and_by_contents(
    console: Console,
) -> None:
    for name, source, digest in (("a", "w1.py", "1"), ("b", "w2.py", "1"), ("c", "w2.py", "2")):
        folder = console.workspace / "runs" / name
        copy = str(folder / "wrapper.py")
        write_run(folder, reward_wrapper=copy)
        copied = {"path": copy, "source": f"/lab/{source}", "sha256": digest * 64}
        (folder / "run.json").write_text(json.dumps({"inputs": {"reward_wrapper": copied}}))
    write_run(console.workspace / "runs" / "bare")
    found = document(console, "compare", "a", "b")["differences"]
    assert found == {"reward_wrapper": {"a": "/lab/w1.py", "b": "/lab/w2.py"}}
    assert document(console, "compare", "b", "c")["differences"].keys() == {"reward_wrapper_sha256"}
    lines = console.run("compare", "b", "bare").stdout.splitlines()
    assert ["reward_wrapper", "w2.py", "none"] in [line.split() for line in lines]


def test_runs_of_one_name_are_told_apart(console: Console) -> None:
    own = console.workspace / "runs"
    for key, name in (("held", "held"), ("held-2", "held"), ("kl-s1", "kl-s1"), ("x", "")):
        write_run(own / key, finished=False)
        (own / key / "run.json").write_text(json.dumps({"name": name}))
    first = {line.split()[0] for line in console.run("runs").stdout.splitlines() if line}
    assert {"held", "held-2", "kl-s1", "x"} <= first
    assert console.run("compare", "held", "held-2").stdout.split("figure")[1].split()[:2] == [
        "held",
        "held-2",
    ]
    found = document(console, "show", "held-2")
    assert (found["id"], found["name"]) == ("held-2", "held")


@pytest.mark.parametrize("words", [["show", "kl"], ["show", "nope"], ["compare", "kl002", "x"]])
def test_an_unclear_name_is_a_usage_error(console: Console, words: list[str]) -> None:
    result = console.run(*words, "--json")
    assert result.returncode == 2 and json.loads(result.stdout)["error"]["kind"] == "usage"


def test_show_tells_the_rate_the_batch_and_what_is_not_by_default(console: Console) -> None:
    settings = {"lr": 1e-3, "temperature": 0.7, "policy_init": "/x/\x1b[2Jy", "log_every": 20}
    write_run(console.workspace / "runs" / "own", **settings)
    lines = [line.split() for line in console.run("show", "own").stdout.splitlines()]
    told = {words[0]: " ".join(words[1:]) for words in lines if words}
    assert (told["lr"], told["temperature"], told["policy_init"]) == ("0.001", "0.7", "/x/y")
    assert "log_every" not in told and "reward_model" not in told
