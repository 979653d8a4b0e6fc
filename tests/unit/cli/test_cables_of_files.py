"""`cables --from`, `--format` and `--match` on saved fabrics: the same map, graphs and answers as from live nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricdoc.cli import main
from fabricdoc.dumps import save
from fabricdoc.fabric import selected, traced
from fabricdoc.model.fabric import Fabric
from fabricdoc.report import graph_text
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_crossed, spark_one_crossed, spark_ring, spark_straight, spark_switch

pytestmark = pytest.mark.unit

FABRICS: dict[str, Callable[[], Fabric]] = {
    "straight": spark_straight,
    "crossed": spark_crossed,
    "ring": spark_ring,
    "switch": spark_switch,
    "servers": lambda: eight_rail_servers(12),
}


@pytest.fixture
def dump(tmp_path: Path) -> Callable[[Fabric], str]:
    def kept(fabric: Fabric) -> str:
        save(fabric, tmp_path / "dump")
        return str(tmp_path / "dump")

    return kept


@pytest.mark.long
@pytest.mark.parametrize("form", ["dot", "mermaid"])
@pytest.mark.parametrize("name", FABRICS)
def test_a_graph_of_a_dump_is_the_graph_of_its_fabric(
    dump: Callable[[Fabric], str], capsys: pytest.CaptureFixture[str], name: str, form: str
) -> None:
    fabric = FABRICS[name]()
    assert main(["cables", "--from", dump(fabric), "--format", form]) in (0, 1)
    assert capsys.readouterr().out == graph_text(selected(traced(fabric)), form)


def test_the_map_of_a_dump_is_drawn_with_what_each_node_sets(
    dump: Callable[[Fabric], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cables", "--from", dump(spark_one_crossed())]) == 0
    out = capsys.readouterr()
    assert "cable, crossed" in out.out
    assert "export NCCL_IB_HCA='=rocep1s0f0,roceP2p1s0f0'" in out.out
    assert "export NCCL_IB_HCA='=rocep1s0f1,roceP2p1s0f1'" in out.out
    assert "host " not in out.out, "the nodes themselves are scan's matter"
    assert "next" not in out.err


def test_a_graph_of_files_without_links_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rdma.txt").write_text("$ rdma link\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n")
    assert main(["cables", "--from", str(tmp_path), "--format", "dot"]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert "there is no map to draw" in out.err


def test_what_a_value_takes_in_a_dump(dump: Callable[[Fabric], str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "cables",
        "--from",
        dump(spark_one_crossed()),
        "--match",
        "=rocep1s0f0",
        "--match",
        "NCCL_SOCKET_IFNAME=enP7",
    ]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "fabricdoc/fabric/1"
    hca, interface = document["matches"]
    assert (hca["variable"], hca["value"]) == ("NCCL_IB_HCA", "=rocep1s0f0")
    assert [(one["node"], [port["hca"] for port in one["ports"]]) for one in hca["nodes"]] == [
        ("spark-a", ["rocep1s0f0"]),
        ("spark-b", []),
    ]
    assert hca["nodes"][0]["ports"][0]["peers"] == ["spark-b/enP2p1s0f1np1", "spark-b/enp1s0f1np1"]
    assert [port["netdev"] for one in interface["nodes"] for port in one["ports"]] == ["enP7s7", "enP7s7"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "NCCL_IB_HCA='=rocep1s0f0'  takes every HCA called rocep1s0f0" in text
    assert "export MASTER_ADDR" not in text, "the answer stands in the place of what each node sets"


def test_a_value_can_be_asked_of_the_text_of_other_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rdma.txt").write_text(
        "$ rdma link\n"
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n"
        "link mlx5_1/1 state DOWN physical_state DISABLED netdev eth1\n"
    )
    main(["cables", "--from", str(tmp_path), "--match", "mlx5"])
    out = capsys.readouterr().out
    assert "mlx5_0:1" in out
    assert "eth0" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cables", "x"], "files come after --from"),
        (["cables", "--from", "x", "--nodes", "a,b"], "--from reads files and asks no node"),
        (["cables", "--from", "x", "--ports", "p"], "--from reads files and asks no node"),
        (["cables", "--from", "x", "--lldp"], "--from reads files and asks no node"),
        (["cables", "--nodes", "a,b", "--match", "x", "--format", "dot"], "leave --format out"),
        (["cables", "--nodes", "a,b", "--match", "UCX_TLS=rc"], "not UCX_TLS"),
        (["cables", "--from", "absent"], "absent"),
    ],
)
def test_contradictions_are_wrong_usage_before_any_node_is_asked(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.long
def test_a_value_can_be_asked_of_one_node(capsys: pytest.CaptureFixture[str]) -> None:
    main(["cables", "--nodes", "here=local", "--match", "NCCL_SOCKET_IFNAME==lo", "--json"])
    (match,) = json.loads(capsys.readouterr().out)["matches"]
    assert [(one["node"], [port["netdev"] for port in one["ports"]]) for one in match["nodes"]] == [("here", ["lo"])]
