"""python -m grader, as a script and as a person meet it."""

import json
from pathlib import Path
from typing import Any

import pytest
from full_disk import fill, small_disk
from sandbox_field import CONTAINED

from grader import cli, keep
from grader.arena import Arena, at
from grader.errors import Exit, TruthError
from grader.part import COMPONENTS, PARTS
from grader.sandbox.level import Layers


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def grade(capsys: Any, arena: Arena, *arguments: object) -> tuple[int, str, str]:
    return run(capsys, "grade", "--fixture", arena.layout.root, *arguments)


@CONTAINED
def test_json_is_exactly_one_document(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, err = grade(capsys, arena, sound, "--json")
    found = json.loads(out)
    assert code == Exit.OK
    assert (found["format"], found["invalid"], found["skipped"]) == (1, 0, [])
    for name, parts in COMPONENTS.items():
        component = found["components"][name]
        assert component["parts"].keys() == parts.keys()
        for part in component["parts"].values():
            assert part.keys() == {"asks", "score", "weight", "why", "evidence"}
            for row in part["evidence"]:
                assert row.keys() == {"read", "found", "expected"}
    weights = {name: component["weight"] for name, component in found["components"].items()}
    total = sum(weights[name] * found["components"][name]["score"] for name in weights)
    assert found["reward"] == pytest.approx(total, abs=1e-12)
    assert {rm["name"] for rm in found["rms"]} == {"reward_model", "rm_h1", "rm_h3"}
    assert found["isolation"].keys() == {"level", "abi", "canary"}
    assert "measuring the checkpoint" in err


@CONTAINED
def test_table_names_every_part_and_the_total(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound)
    assert code == Exit.OK
    for name in [*COMPONENTS, *PARTS, "reward", "isolation"]:
        assert name in out
    assert all(asks in " ".join(out.split()) for asks in PARTS.values())
    assert max(map(len, out.splitlines())) <= 80


def test_no_diagnostic_makes_the_reward_null(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json", "--no-diagnostic")
    found = json.loads(out)
    assert code == Exit.OK
    assert found["reward"] is None
    assert found["components"]["diagnosis"]["score"] is None
    assert found["components"]["decision"]["score"] is not None
    assert found["skipped"] == ["G1", "G2", "G3"]
    assert found["isolation"] is None


def test_only_some_parts(capsys: Any, arena: Arena, sound: Path) -> None:
    _, out, _ = grade(capsys, arena, sound, "--json", "--only", "decision, R3")
    found = json.loads(out)
    assert found["components"]["decision"]["score"] is not None
    assert found["components"]["reporting"]["score"] is None
    assert found["components"]["reporting"]["parts"]["R3"]["score"] == 1
    assert set(found["skipped"]) == set(PARTS) - set(COMPONENTS["decision"]) - {"R3"}


@CONTAINED
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--min", "0"), Exit.OK),
        (("--min", "0.99"), Exit.NO),
        (("--min", "0.5", "--no-diagnostic"), Exit.USAGE),
        (("--only", "nonsense"), Exit.USAGE),
        (("--nonsense",), Exit.USAGE),
    ],
)
def test_exit_codes(
    capsys: Any, arena: Arena, sound: Path, arguments: tuple[str, ...], code: int
) -> None:
    assert grade(capsys, arena, sound, *arguments)[0] == code


def test_invalid_is_a_document_and_exit_3(capsys: Any, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, _ = grade(capsys, arena, tmp_path / "empty", "--json")
    found = json.loads(out)
    assert (code, found["reward"], found["invalid"]) == (Exit.INVALID, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("grade", "/nowhere", "--json"), Exit.INVALID, "submission"),
        (("grade", "/no\udcffwhere", "--json"), Exit.INVALID, "submission"),
        (("grade", "--json"), Exit.USAGE, "usage"),
        (("grade", "/nowhere", "--json", "--fixture", "/nowhere"), Exit.INVALID, "truth"),
        (("nonsense", "--json"), Exit.USAGE, "usage"),
    ],
)
def test_a_failure_is_one_document_too(
    capsys: Any, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    found_code, out, _ = run(capsys, *arguments)
    error = json.loads(out)["error"]
    assert (found_code, error["kind"]) == (code, kind)
    assert error.keys() == {"kind", "message", "path", "fix"}
    assert "\n" not in error["message"] and "\\ud" not in out


def test_several_folders_one_document(capsys: Any, arena: Arena, sound: Path) -> None:
    code, out, _ = grade(capsys, arena, sound, "/nowhere", "--json", "--no-diagnostic")
    first, second = json.loads(out)["grades"]
    assert code == Exit.INVALID
    assert first["invalid"] == 0
    assert second["error"]["kind"] == "submission"


def test_out_writes_the_document(capsys: Any, arena: Arena, sound: Path, tmp_path: Path) -> None:
    before = sorted(sound.rglob("*"))
    grade(capsys, arena, sound, "--no-diagnostic", "--out", tmp_path / "g.json")
    assert json.loads((tmp_path / "g.json").read_text())["format"] == 1
    assert sorted(sound.rglob("*")) == before


def test_where_no_grade_can_be_kept_nothing_is_graded(
    capsys: Any, arena: Arena, sound: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a-file" / "grades"
    place.parent.write_text("in the way")
    code, out, err = grade(capsys, arena, sound, "--grades", place)
    assert (code, out) == (Exit.CANNOT_RUN, "")
    told = f"no grade can be kept in {place}: Not a directory (name another folder: --grades DIR)"
    assert err.splitlines() == [f"error: {told}"]


def test_grades_are_kept_listed_and_compared(
    capsys: Any, arena: Arena, sound: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        grade(capsys, arena, sound, "--no-diagnostic", "--grades", tmp_path / "grades")
    code, out, _ = run(capsys, "grades", "--grades", tmp_path / "grades", "--json")
    found = json.loads(out)["grades"]
    assert (code, len(found)) == (Exit.OK, 2)
    for identity, document in found.items():
        assert identity.startswith("sound-")
        assert document["format"] == 1
        assert {"fixture", "truth", "submission"} <= document["hashes"].keys()
        assert document["seeds"] and document["grader"]
    (tmp_path / "grades" / "broken").mkdir()
    code, out, err = run(capsys, "grades", "--grades", tmp_path / "grades")
    assert code == Exit.OK
    assert all(identity in out.replace("\n", "") for identity in found) or "sound-" in out
    assert "broken cannot be read" in err
    assert run(capsys, "grades", "x", "--grades", tmp_path / "grades")[0] == Exit.USAGE


def test_an_id_is_made_from_any_name(tmp_path: Path) -> None:
    identity = keep.keep(tmp_path, "\x1b[31m Ärger/../x" + "y" * 500, {"reward": 0}, {})
    assert len(identity) <= 64
    assert identity[0].isalnum() and set(identity) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_a_grade_for_which_there_is_no_room_is_told_and_not_lost(
    capsys: Any, arena: Arena, sound: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        (disk / "grades").mkdir()
        fill(disk)
        options = ("--json", "--no-diagnostic", "--grades", disk / "grades")
        code, out, err = grade(capsys, arena, sound, *options)
        assert code == Exit.CANNOT_RUN
        assert json.loads(out)["components"]["decision"]["score"] is not None
        assert "error: no grade can be kept" in err and "--grades DIR" in err
        assert list((disk / "grades").iterdir()) == []


def test_truth_of_another_build_is_refused(arena: Arena, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(arena.layout.root, tmp_path / "other")
    record = json.loads((tmp_path / "other" / "build.json").read_text())
    record["world"]["seed"] = 1
    (tmp_path / "other" / "build.json").write_text(json.dumps(record))
    with pytest.raises(TruthError, match="not the truth of this build"):
        at(tmp_path / "other").check()


@pytest.fixture
def unprotected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with none of the layers."""
    monkeypatch.setattr("grader.grade.layers", lambda: Layers((), 0, False, None))


def test_limits_only_refuses(capsys: Any, arena: Arena, sound: Path, unprotected: None) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json")
    error = json.loads(out)["error"]
    assert (code, error["kind"]) == (Exit.CANNOT_RUN, "isolation")
    assert "--allow-unprotected" in error["fix"]


def test_limits_only_runs_when_asked_and_the_grade_says_so(
    capsys: Any, arena: Arena, sound: Path, unprotected: None
) -> None:
    code, out, _ = grade(capsys, arena, sound, "--json", "--allow-unprotected")
    found = json.loads(out)
    assert code == Exit.OK
    assert found["isolation"]["level"] == "limits-only"
    assert not found["isolation"]["canary"]["read"]
    assert {rm["status"] for rm in found["rms"]} == {"ok"}


def test_no_diagnostic_needs_no_walls(
    capsys: Any, arena: Arena, sound: Path, unprotected: None
) -> None:
    assert grade(capsys, arena, sound, "--no-diagnostic")[0] == Exit.OK


def test_odd_names_are_shown_harmless(capsys: Any, arena: Arena, sound: Path) -> None:
    odd = sound.rename(sound.parent / "[b]\x1b[2J\u540d[link]")
    (odd / "a\x1b[31m").write_text("x")
    (odd / "[b]\x9b").symlink_to("a")
    for options in ([], ["--json"]):
        code, out, err = grade(capsys, arena, odd, "--no-diagnostic", *options)
        assert code == Exit.OK
        assert not {"\x1b", "\x9b"} & set(out + err)
    code, out, err = grade(capsys, arena, str(odd) + "\x1b]0;x\x07")
    assert code == Exit.INVALID
    assert not {"\x1b", "\x07"} & set(out + err)
