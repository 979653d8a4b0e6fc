"""Files per node: all or none, named safely, owned by the calling user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.export import FORMATS, render, write_all
from fabricdoc.export.files import SUFFIXES
from fabricdoc.model.preset import Line, NodePreset, Preset

pytestmark = pytest.mark.unit


def node(name: str, value: str = "=a") -> NodePreset:
    return NodePreset(
        name=name, target=name, lines=(Line(name="NCCL_IB_HCA", value=value, kind="placed", evidence="proof"),)
    )


def preset(*nodes: NodePreset) -> Preset:
    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="base",
        reason="",
        exercised="",
        nodes=nodes,
    )


@pytest.mark.parametrize("fmt", FORMATS)
def test_one_file_per_node(tmp_path: Path, fmt: str) -> None:
    both = preset(node("alpha"), node("beta", "=b"))
    folder = tmp_path / "new" / "folder"
    paths = write_all(both, folder, fmt, env={})
    assert paths == [folder / f"alpha{SUFFIXES[fmt]}", folder / f"beta{SUFFIXES[fmt]}"]
    assert [path.read_text() for path in paths] == [render(both, one, fmt) for one in both.nodes]
    assert sorted(folder.iterdir()) == paths
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o644}


def test_a_refused_value_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(UsageError):
        write_all(preset(node("alpha"), node("beta", "$x")), folder, "env", env={})
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../alpha", "a/b", ".hidden", "", "a\nb", "-o"])
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="can't name a file"):
        write_all(preset(node(name)), tmp_path, "env", env={})
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "alpha.env").symlink_to(victim)
    write_all(preset(node("alpha")), tmp_path, "env", env={})
    assert victim.read_text() == "mine"
    assert not (tmp_path / "alpha.env").is_symlink()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ToolError) as caught:
        write_all(preset(node("alpha")), tmp_path / "out", "env", env={})
    assert "-o DIR" in caught.value.fix


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_under_sudo_the_files_are_the_calling_users(tmp_path: Path) -> None:
    (path,) = write_all(preset(node("alpha")), tmp_path, "env", env={"SUDO_UID": "65534", "SUDO_USER": "x"})
    nobody = pwd.getpwuid(65534)
    assert (path.stat().st_uid, path.stat().st_gid) == (nobody.pw_uid, nobody.pw_gid)
    (path,) = write_all(preset(node("alpha")), tmp_path, "env", env={"SUDO_UID": "x", "SUDO_USER": "x"})
    assert path.stat().st_uid == 0


def test_an_unknown_format_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_all(preset(node("alpha")), tmp_path / "out", "yaml", env={})
    assert not (tmp_path / "out").exists()
