"""The README's map of files, made from the first line of each module's docstring.

python tests/filemap.py     writes it into README.md
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rlhf", "fixture", "grader", "sessions", "tui")
START, END = "<!-- map: made by tests/filemap.py -->\n", "<!-- end of the map -->\n"


def first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.splitlines()[0].rstrip(".") if text else ""


def files(package: str) -> list[Path]:
    """The modules of a package, those of its folders after its own."""
    found = [path for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py"]
    return sorted(found, key=lambda path: (len(path.parts), path))


def file_map() -> str:
    """One block a package, one line a module."""
    blocks = []
    for package in PACKAGES:
        lines = [f"{package}/  {first_line(ROOT / package / '__init__.py')}"]
        for path in files(package):
            name = path.relative_to(ROOT / package).with_suffix("").as_posix()
            lines.append(f"  {name:<22} {first_line(path)}")
        blocks.append("\n".join(lines))
    return START + "```\n" + "\n\n".join(blocks) + "\n```\n" + END


def replaced(readme: str) -> str:
    """A README with its map brought up to date."""
    before, _, rest = readme.partition(START)
    return before + file_map() + rest.partition(END)[2]


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text()))
