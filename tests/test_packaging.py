"""An installed copy holds every package and every data file."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGES = ("rlhf", "fixture", "grader", "sessions", "tui")


def test_every_package_is_named() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for package in PACKAGES
        for path in (ROOT / package).rglob("__init__.py")
    }
    assert set(named) == found


def test_a_wheel_holds_every_file(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    done = subprocess.run(
        [*command, "-w", str(tmp_path), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    committed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=source, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [name for name in committed if name not in names] == []
    assert not any(name.startswith("tests/") for name in names)
