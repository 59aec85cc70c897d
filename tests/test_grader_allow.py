"""What a program in the sandbox may read: nothing of ours, however it is installed."""

import os
from pathlib import Path

from sandbox_field import LINUX_ONLY

from grader.sandbox.allow import OURS, View, carve, own_folders

pytestmark = LINUX_ONLY


def test_carve_leaves_out_what_is_forbidden(tmp_path: Path) -> None:
    for path in ("a/x", "a/b/secret", "a/b/fine", "c"):
        (tmp_path / path).mkdir(parents=True)
    found = carve(str(tmp_path), [str(tmp_path / "a/b/secret")])
    assert sorted(Path(path).name for path in found) == ["c", "fine", "x"]
    assert carve(str(tmp_path), []) == [str(tmp_path)]
    assert carve(str(tmp_path / "c"), [str(tmp_path)]) == []


def test_view_holds_nothing_of_ours(view: View) -> None:
    """Nor any folder that lies above it: wherever this is installed."""
    for own in own_folders():
        for path in map(os.path.realpath, view.readable):
            assert own != path and not own.startswith(path + "/"), path
            assert not path.startswith(own + "/"), path
    names = {entry.name for entry in (view.root / view.site_below).iterdir()}
    assert not names & set(OURS)
    assert "torch" in names or "torch" in view.absent


def test_readable_paths_never_include_a_folder_of_packages(view: View) -> None:
    for path in view.readable:
        assert Path(path).name not in ("site-packages", "dist-packages")
