"""What files of a submission may be: each case spoils a sound one and says what must come."""

import json
import os
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grader_world as worlds
import torch
from safetensors.torch import load_file, save_file

from rlhf.vocab import FAMILIES

Spoil = Callable[[Path], None]


def answer_text(text: str | bytes) -> Spoil:
    data = text if isinstance(text, bytes) else text.encode()
    return lambda folder: (folder / "answer.json").write_bytes(data) and None


def answer_with(key: str, value: Any) -> Spoil:
    return lambda folder: worlds.change_answer(folder, lambda a: a.update({key: value}))


def assessment(change: Callable[[list[dict[str, Any]]], Any]) -> Spoil:
    def spoil(folder: Path) -> None:
        worlds.change_answer(folder, lambda answer: change(answer["run_assessments"]))

    return spoil


def tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "checkpoint" / "policy.safetensors"
        weights = load_file(path)
        change(weights)
        save_file(weights, path)

    return spoil


def replace_weights(make: Callable[[Path], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "checkpoint" / "policy.safetensors"
        path.unlink()
        make(path)

    return spoil


def million_layers(folder: Path) -> None:
    path = folder / "checkpoint" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "n_layers": 1_000_000}))


def evil_pickle(path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(path.parent / "pwned"),)

    path.write_bytes(pickle.dumps(Evil()))


def sparse_terabyte(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def experiment_file(path: str) -> Spoil:
    def change(answer: dict[str, Any]) -> None:
        answer["experiments"] = [{**answer["experiments"][0], "files": [path]}] * 2

    return lambda folder: worlds.change_answer(folder, change)


def evidence_is(make: Callable[[Path], object]) -> Spoil:
    """Replace the file that both experiments name."""

    def spoil(folder: Path) -> None:
        (folder / "measured.json").unlink()
        make(folder / "measured.json")

    return spoil


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def remove(*names: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for name in names:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def link_tree(folder: Path) -> None:
    shutil.move(folder / "checkpoint", folder.parent / "elsewhere")
    (folder / "checkpoint").symlink_to(folder.parent / "elsewhere")


DEEP = "[" * 100_000 + "]" * 100_000
# case -> (what it does to a sound submission, the parts that must be 0 then, what a reason says)
FILES: dict[str, tuple[Spoil, str, str]] = {
    "missing parts: no answer.json": (remove("answer.json"), "D2 D3a D3b D3c R1 R2 R4", ""),
    "missing parts: no checkpoint": (remove("checkpoint"), "P D1 D3a D3b R1", "is not there"),
    "missing parts: no config.json": (remove("checkpoint/config.json"), "P D1 R1", "config.json"),
    "missing parts: no summary.md": (remove("summary.md"), "R3", "is not there"),
    "answer.json that is a list": (answer_text("[1, 2]"), "D2 D3c R1", "holds a list"),
    "answer.json deep": (answer_text(DEEP), "D2 R1", "nested deeper"),
    "answer.json deep in an object": (
        answer_text('{"a":' * 5000 + "1" + "}" * 5000),
        "D2 R1",
        "nested deeper",
    ),
    "answer.json huge": (answer_text('{"a":"' + "x" * (5 << 20) + '"}'), "D2 R1", "more than"),
    "answer.json with NaN": (answer_text('{"dev_eval": {"proxy_mean": NaN}}'), "D2 R1", "NaN"),
    "answer.json with infinity": (answer_text('{"a": 1e999}'), "D2 R1", "too large"),
    "answer.json with a huge integer": (answer_text(f'{{"a": {"9" * 9999}}}'), "D2 R1", "digits"),
    "answer.json with duplicate keys": (answer_text('{"a": 1, "a": 2}'), "D2 R1", "given twice"),
    "answer.json torn": (answer_text('{"a": 1'), "D2 R1", "not JSON"),
    "answer.json not UTF-8": (answer_text(b"\xff\xfe{}"), "D2 R1", "not UTF-8"),
    "answer.json empty": (answer_text(""), "D2 R1", "not JSON"),
    "answer.json with a lone surrogate": (answer_text('{"recipe": "\\ud800"}'), "D2 R1", ""),
    "wrong types: certification": (answer_with("certification", [1]), "D3a D3b D3c R2", ""),
    "wrong types: dev_eval": (answer_with("dev_eval", "good"), "R1", ""),
    "wrong types: run_assessments": (answer_with("run_assessments", {"a": 1}), "D2", ""),
    "wrong types: experiments": (answer_with("experiments", 7), "R4", ""),
    "wrong types: everything null": (
        answer_text(json.dumps(dict.fromkeys(("certification", "dev_eval", "experiments")))),
        "D2 D3a D3b D3c R1 R2 R4",
        "",
    ),
    "unknown run names": (
        assessment(lambda rows: [row.update(run=row["run"] + "x") for row in rows]),
        "D2",
        "missing",
    ),
    "missing run names": (assessment(lambda rows: rows.clear()), "D2", "missing"),
    "families given twice": (
        answer_with(
            "certification",
            {"families_improved": [*FAMILIES, "anvil"], "families_not_improved": []},
        ),
        "D3c",
        "given twice",
    ),
    "a checkpoint with extra tensors": (
        tensors(lambda w: w.update(more=torch.zeros(2))),
        "P D1 R1",
        "foreign 'more'",
    ),
    "a checkpoint with missing tensors": (
        tensors(lambda w: w.__delitem__("head.weight")),
        "P D1 R1",
        "no tensor 'head.weight'",
    ),
    "a checkpoint of wrong dtype": (
        tensors(lambda w: w.update({k: v.half() for k, v in w.items()})),
        "P D1 R1",
        "torch.float16",
    ),
    "a checkpoint of wrong shape": (
        tensors(lambda w: w.update({"ln.bias": torch.zeros(3)})),
        "P D1 R1",
        "[3]",
    ),
    "a checkpoint with NaN weights": (
        tensors(lambda w: w.update({"ln.bias": w["ln.bias"] * float("nan")})),
        "P D1 R1",
        "NaN",
    ),
    "a config.json asking for a million layers": (million_layers, "P D1 R1", "n_layers"),
    "a pickle renamed to safetensors": (replace_weights(evil_pickle), "P D1 R1", "safetensors"),
    "a checkpoint that is empty": (replace_weights(Path.touch), "P D1 R1", "safetensors"),
    "a checkpoint with an oversized header": (
        replace_weights(lambda path: path.write_bytes(b"\xff" * 8 + b"{}")),
        "P D1 R1",
        "safetensors",
    ),
    "a checkpoint of terabytes": (
        replace_weights(sparse_terabyte),
        "P D1 R1",
        "too big",
    ),
    "a checkpoint that is a device": (
        replace_weights(lambda path: path.symlink_to("/dev/zero")),
        "P D1 R1",
        "symbolic link",
    ),
    "a symlink to the checkpoint's folder": (link_tree, "P D1 R1", "symbolic link"),
    "symlinks": (evidence_is(lambda p: p.symlink_to("answer.json")), "R4", "symbolic link"),
    "FIFOs": (evidence_is(os.mkfifo), "R4", "named pipe"),
    "sockets": (evidence_is(unix_socket), "R4", "socket"),
    "a path of an experiment leaving the folder": (experiment_file("../sound/x"), "R4", ""),
    "an absolute path of an experiment": (experiment_file("/etc/hostname"), "R4", ""),
    "a path of an experiment with a NUL": (experiment_file("measured.json\0"), "R4", ""),
}
