"""Files held against a scan: which node a file is for, one remark for the same thing on many nodes, its NCCL."""

from __future__ import annotations

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.fabric import Fabric
from fabricdoc.nccl.lint import read_source
from fabricdoc.nccl.lint_scan import judge_scan, nccl_of, nodes_for
from fabricdoc.nccl.lint_settings import Remark
from fabricdoc.nccl.lint_units import arranged
from tests.fabrics.healthy import library
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable, spark_one_crossed

pytestmark = pytest.mark.unit


def judged(fabric: Fabric, text: str, *files: str, node: str = "") -> tuple[Remark, ...]:
    units = arranged([read_source(file, text) for file in files or ("nccl.env",)])
    return judge_scan(units, fabric, node)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("spark-a.env", ["spark-a"]),
        ("out/spark-b.nccl.env", ["spark-b"]),
        ("spark-b/nccl.env", ["spark-b"]),
        ("spark-b_compose.yaml", ["spark-b"]),
        ("nccl.env", ["spark-a", "spark-b"]),
        ("spark.env", ["spark-a", "spark-b"]),
        ("spark-bb.env", ["spark-a", "spark-b"]),
    ],
)
def test_a_file_is_for_the_node_it_is_called_after_or_for_all(file: str, expected: list[str]) -> None:
    (unit,) = arranged([read_source(file, "NCCL_NET=IB\n")])
    assert [one.name for one in nodes_for(unit, spark_one_cable())] == expected


def test_the_user_may_say_whose_a_file_is() -> None:
    (unit,) = arranged([read_source("spark-a.env", "NCCL_NET=IB\n", node="spark-b")])
    assert [one.name for one in nodes_for(unit, spark_one_cable())] == ["spark-b"]
    (plain,) = arranged([read_source("nccl.env", "NCCL_NET=IB\n")])
    assert [one.name for one in nodes_for(plain, spark_one_cable(), "spark-a")] == ["spark-a"]
    with pytest.raises(UsageError, match="no node 'x'") as caught:
        nodes_for(plain, spark_one_cable(), "x")
    assert "spark-a, spark-b" in caught.value.fix


def test_one_file_for_crossed_nodes_is_wrong_on_one_of_them() -> None:
    (remark,) = judged(spark_one_crossed(), "\nNCCL_IB_HCA==rocep1s0f0\n")
    assert (remark.line, remark.complaint.id, remark.complaint.severity) == (2, "selector-matches-nothing", "error")
    assert remark.complaint.message.startswith("on spark-b: NCCL_IB_HCA takes no ACTIVE port")
    assert remark.text[remark.column - 1 :][: remark.width] == "=rocep1s0f0"
    assert judged(spark_one_crossed(), "NCCL_IB_HCA==rocep1s0f0\n", "spark-a.env") == ()


def test_the_same_thing_on_several_nodes_is_told_once() -> None:
    (remark,) = judged(spark_one_cable(), "NCCL_IB_HCA=mlx5\n")
    assert remark.complaint.message.startswith("on spark-a, spark-b: ")


def test_gids_and_rails_are_judged_over_all_files() -> None:
    text = "NCCL_IB_GID_INDEX=1\n"
    found = judged(spark_one_cable(), text, "spark-a.env", "spark-b.env")
    assert [(one.file, one.complaint.id) for one in found] == [
        ("spark-a.env", "gid-index-link-local"),
        ("spark-b.env", "gid-index-link-local"),
    ]


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_what_a_healthy_fabric_would_be_given_is_not_complained_of(name: str) -> None:
    """Every node's own active RoCE ports that meet somebody, by exact names."""
    fabric = RECORDED[name]()
    for node in fabric.nodes:
        hcas = () if not isinstance(node.hcas, tuple) else node.hcas
        links = fabric.links if isinstance(fabric.links, tuple) else ()
        met = {end.hca for one in links for end in (one.a, one.b) if end.node == node.name}
        listed = [one.name for one in hcas if one.ports and one.ports[0].state == "ACTIVE" and one.name in met]
        if listed:
            text = f"NCCL_NET=IB\nNCCL_IB_HCA=={','.join(listed)}\n"
            assert judged(fabric, text, f"{node.name}.env") == ()


def test_the_release_of_the_scans_nodes_counts_where_they_agree() -> None:
    def having(*versions: str) -> Fabric:
        fabric = spark_one_cable()
        nodes = [
            node.model_copy(update={"host": node.host.model_copy(update={"libnccl": library(version)})})
            for node, version in zip(fabric.nodes, versions, strict=True)
        ]
        return fabric.model_copy(update={"nodes": tuple(nodes)})

    assert nccl_of(having("2.28.9+cuda13.0", "2.28.9+cuda13.0")).release == (2, 28, 9)
    assert nccl_of(having("2.28.9+cuda13.0", "2.30.7+cuda13.0")).release is None
    assert nccl_of(Fabric()).release is None
