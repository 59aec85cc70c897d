"""The texts say what is there."""

import re

from conftest import ROOT
from filemap import PACKAGES, file_map, files, first_line, replaced


def test_the_readme_s_map_is_the_tree() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme == replaced(readme), "run: python tests/filemap.py"
    assert file_map() in readme


def test_every_module_says_what_it_is() -> None:
    for package in PACKAGES:
        for path in files(package):
            assert first_line(path), path


def test_the_commands_that_the_readme_names_exist() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?m)(?:`|^    )make (\w+)", readme)):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for module in set(re.findall(r"python -m ([\w.]+)", readme)):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_ci_runs_the_readme_s_test_command() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
