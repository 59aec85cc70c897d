"""The dashboard as an operator uses it, in a terminal, checked against `runs --json`."""

import json
import time
from pathlib import Path

import pytest
from synthetic import SHIPPED, Console, open_terminal, row, write_run
from terminal import Terminal

from tui.render import figure

SIZES = [(80, 24), (160, 50)]
SIZE_IDS = ["80x24", "160x50"]


def names_on(terminal: Terminal) -> list[str]:
    """The names in the runs list, from top to bottom."""
    known = ["reference", *SHIPPED]
    lines = [line for line in terminal.screen.display if "finished" in line]
    return [next((name for name in known if f" {name} " in line), "") for line in lines]


def document(console: Console, *words: str) -> list[dict]:
    return json.loads(console.run("runs", "--json", *words).stdout)["runs"]


@pytest.mark.parametrize(("columns", "lines"), SIZES, ids=SIZE_IDS)
def test_an_operator_finds_compares_and_reads(console: Console, columns: int, lines: int) -> None:
    runs = document(console)
    with open_terminal(console, columns, lines) as terminal:
        terminal.sees("reference", *SHIPPED)

        best = max(runs, key=lambda run: run["balanced"]["proxy"])["name"]
        terminal.press("o", "balanced.proxy", "enter")
        terminal.until(lambda: names_on(terminal)[:1] == [best])

        terminal.press(":", "sort by dune.kl", "enter")
        by_kl = sorted(runs, key=lambda run: -run["families"]["dune"]["kl"]["mean"])
        terminal.until(lambda: names_on(terminal) == [run["name"] for run in by_kl])
        terminal.press("S")
        terminal.until(lambda: names_on(terminal) == [run["name"] for run in by_kl[::-1]])
        terminal.press("S")

        limit = by_kl[3]["families"]["dune"]["kl"]["mean"]
        terminal.press("/", f"dune.kl>={limit} !reference", "enter")
        kept = document(console, "--filter", f"dune.kl>={limit} !reference", "--sort", "-dune.kl")
        wanted = [run["name"] for run in kept]
        terminal.until(lambda: names_on(terminal) == wanted)
        assert len(wanted) >= 3

        terminal.press("home", "space", "space", "space", "home", "enter")
        terminal.sees("at step", *wanted[:3])
        terminal.sees("KL" if columns == 160 else "proxy")
        _reads_values(terminal, console, wanted[:3])
        terminal.press("q")
        assert terminal.wait() == 0


def _reads_values(terminal: Terminal, console: Console, names: list[str]) -> None:
    """The read-out shows the open run's own value at its newest row and at the row before it."""
    logs = {name: console.task / "runs" / name / "log.jsonl" for name in names}
    rows = {name: list(map(json.loads, log.read_text().splitlines())) for name, log in logs.items()}
    mine = rows[names[0]]
    end = mine[-1]["step"]
    before = max(row["step"] for log in rows.values() for row in log if row["step"] < end)
    for step, keys in ((end, ()), (before, ("left",))):
        terminal.press(*keys)
        terminal.sees(f"at step {step} ")
        value = next(row["proxy_reward"] for row in reversed(mine) if row["step"] <= step)
        terminal.until(lambda v=value: f" {figure(v)} " in _readout(terminal, names[0]))


def _readout(terminal: Terminal, name: str) -> str:
    """The last line on screen that holds the name."""
    return next((line for line in reversed(terminal.screen.display) if name in line), "")


def test_settings_that_differ_are_named(console: Console) -> None:
    with open_terminal(console, 120, 30) as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("/", "kl002 or kl05", "enter", "home", "space", "space", "enter")
        terminal.sees("at step")
        terminal.press("=")
        terminal.sees("settings in which these runs differ", "kl_coef", "0.02", "0.5", "steps")
        assert "reward_wrapper" not in terminal.text


def test_a_number_is_explained_and_an_empty_cell_too(console: Console) -> None:
    document(console)
    with open_terminal(console) as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("right", "right", "right", "right", "right", "right", "i")
        terminal.sees("balanced.proxy of reference", "RM score", "standard error", "4800 samples")
        terminal.press("esc", "home", "left", "left", "i")
        terminal.sees("dev.proxy of reference", "none", "no dev_eval.json")


def test_columns_are_chosen_and_sideways_reached(console: Console) -> None:
    document(console)
    with open_terminal(console) as terminal:
        terminal.sees("reference", *SHIPPED)
        assert "fjord" not in terminal.text
        terminal.press("]")
        terminal.sees("age", "fjord")
        terminal.press("[", "c", "space", "down", "space", "enter")
        terminal.until(lambda: "coef" not in terminal.text and "steps" not in terminal.text)


def test_seeds_are_grouped_with_mean_spread_and_n(console: Console) -> None:
    for seed, proxy in enumerate((1.0, 2.0, 3.0)):
        write_run(console.workspace / "runs" / f"sweep-{seed}", proxy=proxy, seed=seed, lr=0.5)
    with open_terminal(console, 120, 30, "--read-only") as terminal:
        terminal.sees("sweep-0", "sweep-2")
        terminal.press("g")
        terminal.sees("sweep-0 (n=3)")
        assert "sweep-1" not in terminal.text
        # dev proxies .5, 1, 1.5: mean 1, standard deviation 0.5
        assert "1.00±0.50" in terminal.line("sweep-0")


def test_the_same_settings_and_seed_once_more_are_no_other_seed(console: Console) -> None:
    runs, task = console.workspace / "runs", console.task.absolute()
    for name, seed, root in (("one", 0, "/task"), ("again", 0, "/task"), ("two", 1, task)):
        write_run(runs / name, seed=seed, lr=0.5, reward_model=f"{root}/reward_model")
    with open_terminal(console, 120, 30, "--read-only") as terminal:
        terminal.sees("one", "again", "two")
        terminal.press("g")
        terminal.sees("(n=2)")
        terminal.sees(" one ")
        assert terminal.text.count("(n=") == 1


def test_a_training_run_appears_moves_and_finishes(console: Console) -> None:
    runs = console.workspace / "runs"
    runs.mkdir(parents=True)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        folder = write_run(runs / "live", rows=3, finished=False)
        terminal.sees("live", "running")
        terminal.press("/", "live", "enter", "enter")
        terminal.sees("at step 800")
        with open(folder / "log.jsonl", "a") as log:
            log.write(json.dumps({**row(3, 3, 800, 1.0, 2.0), "step": 820}) + "\n")
        terminal.sees("at step 820")
        (folder / "policy.safetensors").write_bytes(b"weights")
        terminal.sees("finished")


def test_nothing_is_painted_when_nothing_changes(console: Console) -> None:
    write_run(console.workspace / "runs" / "live", finished=False)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("live", *SHIPPED)
        terminal.until(lambda: _is_quiet(terminal))


def _is_quiet(terminal: Terminal) -> bool:
    """Whether nothing is painted for as long as it takes to look at everything."""
    before = len(terminal.output)
    terminal.read(4)
    return len(terminal.output) == before


def test_at_most_four_repaints_a_second_that_no_key_asked_for(console: Console) -> None:
    folder = write_run(console.workspace / "runs" / "live", finished=False)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("live", *SHIPPED)
        terminal.press("/", "live", "enter", "enter")
        terminal.sees("at step 800")
        terminal.settle()
        paints, last, began, step = 0, 0.0, time.monotonic(), 800
        while step < 860 or paints < 2:  # twenty rows a second for three seconds
            step += 1
            with open(folder / "log.jsonl", "a") as log:
                log.write(json.dumps({**row(1, 1, 800, 1.0, 2.0), "step": step}) + "\n")
            before = len(terminal.output)
            terminal.read(max(0.0, began + (step - 800) / 20 - time.monotonic()))
            if len(terminal.output) > before and time.monotonic() - last > 0.1:
                paints, last = paints + 1, time.monotonic()
        assert paints <= 4 * (time.monotonic() - began) + 1
        terminal.sees(f"at step {step}")


def test_rows_and_curves_are_written_to_files(console: Console, tmp_path: Path) -> None:
    document(console)
    with open_terminal(console, 200, 24) as terminal:
        terminal.sees("reference", *SHIPPED)
        rows = _written(terminal, tmp_path / "rows.csv").splitlines()
        whole = _written(terminal, tmp_path / "rows.json")
        terminal.press("down", "enter")
        terminal.sees("at step")
        curves = _written(terminal, tmp_path / "curves.csv").splitlines()
    assert len(json.loads(whole)["runs"]) == 6
    assert "dune.kl.se" in rows[0] and len(curves) == 41


def _written(terminal: Terminal, path: Path) -> str:
    """What w writes into a file of that name, once it says that it did."""
    terminal.press("w", *["\x7f"] * 10, str(path), "enter")
    terminal.sees(f"written: {path} ")
    return path.read_text()


def test_chosen_columns_are_there_the_next_time(console: Console) -> None:
    with open_terminal(console) as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("c", "space", "enter")
        terminal.until(lambda: "coef" not in terminal.text)
        terminal.until((console.workspace / "view.json").exists)
        terminal.press("q")
        assert terminal.wait() == 0
    with open_terminal(console) as terminal:
        terminal.sees("reference", "steps", *SHIPPED)
        assert "coef" not in terminal.text


@pytest.mark.parametrize("kept", ["", "[", "[]", '{"columns": [1, "nope"], "look": 3}'])
def test_damaged_preferences_count_as_none(console: Console, kept: str) -> None:
    console.workspace.mkdir()
    (console.workspace / "view.json").write_text(kept)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)


def test_leaving_says_what_goes_on(console: Console) -> None:
    write_run(console.workspace / "runs" / "live", finished=False)
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("live", "running")
        terminal.press("q")
        assert terminal.wait() == 0
        assert "1 run(s) go on without the dashboard: live" in terminal.text


def test_a_metric_is_explained_in_the_run_view(console: Console) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        terminal.press("down", "enter", "m", "i")
        terminal.sees("k1 estimate", "per family  yes")


def test_a_run_that_ends_while_shown_is_measured(console: Console) -> None:
    document(console)
    folder = write_run(console.workspace / "runs" / "live", finished=False)
    with open_terminal(console, 80, 24) as terminal:
        terminal.sees("live", "running")
        (folder / "config.json").write_text("{}")
        (folder / "policy.safetensors").write_bytes(b"weights")
        terminal.until(lambda: len(list(folder.glob("eval/*.json"))) == 1)
