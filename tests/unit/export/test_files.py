"""Files per node: all or none, named safely, owned by the calling user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.export import FORMATS, format_named, render, write_all
from fabricdoc.export.formats import FAMILIES
from fabricdoc.model.preset import Line, NodePreset
from tests.unit.export.presets_made import pair, preset
from tests.unit.export.readers import docker_reads

pytestmark = pytest.mark.unit


def node(name: str, value: str = "=a") -> NodePreset:
    return NodePreset(
        name=name, target=name, lines=(Line(name="NCCL_IB_HCA", value=value, kind="placed", evidence="proof"),)
    )


NODE_FORMATS = [fmt for fmt in FORMATS if format_named(fmt).scope == "node"]


@pytest.mark.parametrize("fmt", NODE_FORMATS)
def test_one_whole_file_per_node_and_one_of_what_they_share(tmp_path: Path, fmt: str) -> None:
    both = pair({"NCCL_ALGO": "Ring"})
    folder = tmp_path / "new" / "folder"
    paths = write_all(both, folder, fmt, env={})
    ending, with_common = format_named(fmt).file, format_named(fmt).with_common
    wanted = [folder / f"{name}{ending}" for name in ("spark1", "spark2", *(["common"] if with_common else []))]
    assert paths == wanted
    assert [path.read_text() for path in paths[:2]] == [render(both, one, fmt) for one in both.nodes]
    assert sorted(folder.iterdir()) == sorted(paths)
    mode = 0o755 if format_named(fmt).runs else 0o644
    assert {path.stat().st_mode & 0o777 for path in paths} == {mode}


def test_the_common_file_holds_what_all_nodes_share_and_no_hca(tmp_path: Path) -> None:
    write_all(pair({"NCCL_ALGO": "Ring"}), tmp_path, "env", env={})
    assert docker_reads((tmp_path / "common.env").read_text()) == {"NCCL_NET": "IB", "NCCL_ALGO": "Ring"}


def test_one_node_has_no_common_file_nor_has_a_narrowed_one(tmp_path: Path) -> None:
    both = pair()
    assert write_all(preset(node("alpha")), tmp_path, env={}) == [tmp_path / "alpha.env"]
    assert write_all(both, tmp_path, env={}, only=both.nodes[1]) == [tmp_path / "spark2.env"]


def test_a_node_called_common_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="called 'common'"):
        write_all(preset(node("common"), node("b")), tmp_path, "env", env={})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fmt", FAMILIES)
def test_a_launcher_gets_all_its_files(tmp_path: Path, fmt: str) -> None:
    paths = write_all(pair(), tmp_path, fmt, env={})
    for part in FAMILIES[fmt]:
        ending = format_named(part).file
        assert any(path.name.endswith(ending) for path in paths), ending
    assert sorted(tmp_path.iterdir()) == sorted(paths)


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
