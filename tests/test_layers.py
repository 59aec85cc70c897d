"""Who may import whom, in the source and at run time."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

OURS = ("rlhf", "fixture", "grader", "sessions", "tui")
THIRD = {"torch", "numpy", "safetensors", "click", "rich", "textual", "pandas"}
TORCH_FREE = {"vocab", "config", "runlog"}

MAY_IMPORT = {
    "rlhf": {"rlhf", "torch", "numpy", "safetensors"},
    "fixture": {"fixture", "rlhf", "torch", "numpy", "click", "rich"},
    "grader": {"grader", "fixture", "rlhf", "torch", "numpy", "safetensors", "click", "rich"},
    "sessions": {"sessions", "rlhf", "click"},
    "tui": {"tui", "sessions", "rlhf", "textual", "rich", "click"},
}


def modules(package: str) -> list[Path]:
    return sorted(
        path
        for path in (ROOT / package).rglob("*.py")
        if not {"task", "solutions", "templates"} & set(path.relative_to(ROOT).parts)
    )


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, relative ones made absolute."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts if path.name == "__init__.py" else parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", OURS)
def test_packages_import_only_what_they_may(package: str) -> None:
    for path in modules(package):
        for name in imports(path):
            top = name.split(".")[0]
            if top in THIRD or top in OURS:
                assert top in MAY_IMPORT[package], f"{path} imports {name}"


@pytest.mark.parametrize("package", ["sessions", "tui"])
def test_the_console_knows_only_the_torch_free_part(package: str) -> None:
    for path in modules(package):
        for name in imports(path):
            if name.startswith("rlhf."):
                assert name.split(".")[1] in TORCH_FREE, f"{path} imports {name}"


def test_the_core_does_not_know_its_analysis() -> None:
    for path in (ROOT / "rlhf").glob("*.py"):
        assert not any(name.startswith("rlhf.analysis") for name in imports(path)), path


def test_fixture_knows_only_the_release_rule_of_the_analysis() -> None:
    for path in modules("fixture"):
        for name in imports(path):
            if name.startswith("rlhf.analysis."):
                assert name.startswith("rlhf.analysis.release"), f"{path} imports {name}"


def test_the_library_imports_itself_relatively() -> None:
    """So that its copy in a task folder never reaches for another."""
    for path in (ROOT / "rlhf").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not (node.module or "").startswith("rlhf"), path


@pytest.mark.parametrize(
    "module",
    ["rlhf.vocab", "rlhf.config", "rlhf.runlog", "tui.cli", "tui.app", "sessions.catalogue"],
)
def test_no_torch_behind_deferred_imports(module: str) -> None:
    code = f"import sys, {module}; assert not {{'torch', 'numpy'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("words", [["grades", "--grades"], ["digest"]])
def test_commands_that_only_read_load_no_torch(words: list[str], tmp_path: Path) -> None:
    code = "import sys; from grader.cli import main; assert main(sys.argv[1:]) == 0;"
    code += "assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, *words, str(tmp_path)], check=True, cwd=ROOT)
