"""Files behind paths: order, names, nodes; links and pipes are left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricdoc.errors import InputError
from fabricdoc.explain.files import STDIN, listed, node_in

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("node01.log", "node01"),
        ("node01_show_gids.txt", "node01"),
        ("node02-ibv_devinfo.txt", "node02"),
        ("spark-b.nccl.log.gz", "spark-b"),
        ("nccl.node01.4711.log", "node01"),
        ("node01.rackA.log", "node01.rackA"),
        ("log_worker7_rank3.txt", "worker7"),
        ("spark-3995_show_gids.txt", "spark-3995"),
        ("node_1.log", "node_1"),
        ("node-2_rdma_link.txt", "node-2"),
        ("worker-12.log", "worker-12"),
        ("node01_0.log", "node01"),
        ("10.1.0.5_show_gids.txt", "10.1.0.5"),
        ("ip-10-1-0-5.log", "ip-10-1-0-5"),
        ("log_3.txt", ""),
        ("ip_br.txt", ""),
        ("ip_a.txt", ""),
        ("left_ip_a.txt", "left"),
        ("a.log", "a"),
        ("ifconfig.txt", ""),
        ("input.log", ""),
        ("nccl.env", ""),
        ("show_gids.txt", ""),
        ("rank0.log", ""),
        ("hw_counters.txt", ""),
        ("nccl_tests.txt", ""),
        ("", ""),
        ("---.log", ""),
    ],
)
def test_the_node_in_a_name(name: str, node: str) -> None:
    assert node_in(name) == node


def test_a_folder_is_walked_in_natural_order_by_relative_names(tmp_path: Path) -> None:
    for name in ("node10.log", "node2.log", "sub/env.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [one.name for one in listed([str(tmp_path)])] == ["node2.log", "node10.log", "sub/env.txt"]


def test_folders_name_nodes_where_there_are_several(tmp_path: Path) -> None:
    for name in ("alpha/nccl.log", "bravo/nccl.log"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    assert [one.node for one in listed([str(tmp_path)])] == ["alpha", "bravo"]


def _nodes(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).write_text("")
    return [one.node for one in listed([str(folder)])]


@pytest.mark.parametrize(
    ("names", "nodes"),
    [
        (("gpu11_show_gids.txt", "gpu12_show_gids.txt"), ["gpu11", "gpu12"]),
        (("ip_link_x1.txt", "ip_link_x2.txt", "nccl.env"), ["x1", "x2", ""]),
        (("gpu11_show_gids.txt", "gpu12_ip_addr.txt"), ["", ""]),
        (("gpu0.log", "gpu1.log"), ["", ""]),
        (("rank0_nccl.log", "rank1_nccl.log"), ["", ""]),
        (("_".join(["1"] * 40) + "_gids.txt", "_".join(["2"] * 40) + "_gids.txt"), ["", ""]),
    ],
)
def test_dumps_that_differ_in_a_number_are_two_nodes(tmp_path: Path, names: tuple[str, ...], nodes: list[str]) -> None:
    assert _nodes(tmp_path, *names) == nodes


def test_several_paths_keep_the_names_they_were_given(tmp_path: Path) -> None:
    for name in ("a/x.log", "b/x.log"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    names = [one.name for one in listed([str(tmp_path / "a"), str(tmp_path / "b" / "x.log")])]
    assert names == [str(tmp_path / "a" / "x.log"), str(tmp_path / "b" / "x.log")]


def test_a_path_given_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("x")
    assert len(listed([str(tmp_path / "x.log"), str(tmp_path)])) == 1


def test_a_dash_is_stdin() -> None:
    assert [(one.path, one.name) for one in listed([STDIN])] == [(None, "-")]


def test_links_and_pipes_in_a_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x.log").write_text("x")
    assert [one.name for one in listed([str(tmp_path)])] == ["x.log"]


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        listed([str(tmp_path / "nowhere")])


def test_of_several_folders_each_is_a_nodes(tmp_path: Path) -> None:
    for name in ("node1", "node2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "show_gids.txt").write_text("x")
    both = listed([str(tmp_path / "node1"), str(tmp_path / "node2")])
    assert [one.node for one in both] == ["node1", "node2"]
    assert [one.node for one in listed([str(tmp_path / "node1")])] == [""]
