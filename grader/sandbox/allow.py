"""Which files of this machine a submission may read: an allow-list, folder by folder.

It sees Python through a view: a prefix made of symbolic links to the standard library and to
torch, numpy, safetensors, pandas and what they need, and to nothing else. Only the targets of
those links are readable, so the package that grades is out of reach wherever it is installed.
"""

import glob
import importlib.metadata
import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("torch", "numpy", "safetensors", "pandas")
OURS = ("rlhf", "fixture", "grader", "sessions", "tui")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SYSTEM = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu",
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_LIBRARY = re.compile(r".*-linux-.*|.*\.so(\..*)?|ld-.*")


@dataclass(frozen=True)
class View:
    """A Python prefix for the sandbox and the real paths that it needs."""

    root: Path
    readable: tuple[str, ...]
    absent: tuple[str, ...]  # of PACKAGES, not installed

    @property
    def accelerated(self) -> bool:
        """Whether torch comes with an accelerator's libraries, gigabytes of addresses."""
        return (self.root / self.site_below / "nvidia").exists()

    @property
    def site_below(self) -> str:
        """Where packages lie, relative to the prefix."""
        return f"{_LIB}/site-packages"


_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LIB = f"lib/{_VERSION}"


def interpreter() -> str:
    """The real binary behind sys.executable, outside any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def carve(root: str, forbidden: Sequence[str]) -> list[str]:
    """The largest paths under `root` that neither are, nor lie under, nor hold a forbidden one."""
    real = os.path.realpath(root)
    if any(real == path or real.startswith(path + "/") for path in forbidden):
        return []
    if not any(path.startswith(real.rstrip("/") + "/") for path in forbidden):
        return [root]
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    entries = (os.path.join(root, name) for name in names)
    return [
        path for entry in entries if not os.path.islink(entry) for path in carve(entry, forbidden)
    ]


def own_folders() -> list[str]:
    """Where this project's packages lie, installed or checked out."""
    found = []
    for name in OURS:
        spec = importlib.util.find_spec(name)
        found += list(spec.submodule_search_locations or []) if spec else []
    return [os.path.realpath(path) for path in found]


def _package_folders() -> list[str]:
    """Every folder of third-party packages known to this interpreter or its neighbours."""
    known = [*site.getsitepackages(), *sys.path, sysconfig.get_paths()["purelib"]]
    known = [path for path in known if path.rstrip("/").endswith("-packages")]
    stdlib = os.path.realpath(sysconfig.get_paths()["stdlib"])
    beside = [os.path.join(stdlib, name) for name in ("site-packages", "dist-packages")]
    others = [
        path
        for folder in _LIBRARIES
        for path in glob.glob(f"{folder}/python3*")
        if os.path.realpath(path) != stdlib
    ]
    return sorted({os.path.realpath(path) for path in [*known, *beside, *others]})


def _requirements(name: str) -> tuple[importlib.metadata.Distribution, list[str]] | None:
    """A distribution and the names it needs without extras; None if it is not installed."""
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    lines = [line for line in found.requires or [] if "extra ==" not in line.replace("'", '"')]
    return found, [match.group() for line in lines if (match := _NAME.match(line))]


def _closure(names: Iterable[str]) -> dict[str, importlib.metadata.Distribution]:
    """The installed distributions among `names` and all that they need, by their name."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found or not (known := _requirements(name)):
            continue
        found[key] = known[0]
        waiting += known[1]
    return found


def _top_level(distribution: importlib.metadata.Distribution) -> set[str]:
    """The entries that a distribution put straight into its site-packages, as paths."""
    tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
    folder = str(distribution.locate_file(""))
    return {os.path.join(folder, top) for top in tops if top not in ("__pycache__", *OURS)}


def _libraries(forbidden: Sequence[str]) -> list[str]:
    """The shared libraries of the system and of this interpreter."""
    found = []
    for folder in dict.fromkeys([*_LIBRARIES, os.path.join(sys.base_prefix, "lib")]):
        if os.path.isdir(folder):
            names = (name for name in sorted(os.listdir(folder)) if _LIBRARY.fullmatch(name))
            found += [os.path.join(folder, name) for name in names]
    return [path for entry in found for path in carve(entry, forbidden)]


def _link(folder: Path, targets: Iterable[str]) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for target in targets:
        (folder / os.path.basename(target)).symlink_to(target)
    return list(targets)


def _outer(paths: Iterable[str]) -> list[str]:
    """`paths` without those that lie under another of them."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not kept or not path.startswith(kept[-1].rstrip("/") + "/"):
            kept.append(path)
    return kept


def make_view(root: Path) -> View:
    """Build the prefix in the new folder `root`."""
    forbidden = [*_package_folders(), *own_folders()]
    stdlib = os.path.realpath(sysconfig.get_paths()["stdlib"])
    names = [os.path.join(stdlib, name) for name in sorted(os.listdir(stdlib))]
    inside = [name for name in names if os.path.realpath(name) not in forbidden]
    _link(root / _LIB, inside)
    (root / "bin").mkdir()
    (root / "bin" / "python3").symlink_to(interpreter())
    distributions = _closure(PACKAGES)
    packages = sorted({path for found in distributions.values() for path in _top_level(found)})
    packages = [path for path in packages if os.path.exists(path)]
    _link(root / _LIB / "site-packages", packages)
    modules = [path for entry in inside for path in carve(os.path.realpath(entry), forbidden)]
    readable = [str(root), interpreter(), *_libraries(forbidden), *modules]
    readable += [os.path.realpath(path) for path in packages]
    readable += [path for path in _SYSTEM if os.path.exists(path)]
    absent = tuple(name for name in PACKAGES if name not in distributions)
    return View(root, tuple(_outer(readable)), absent)
