"""Curated presets from a scan alone: the right one for each recorded fabric, nothing claimed that was not measured."""

from __future__ import annotations

import pytest

from fabricdoc.errors import InconclusiveError, UsageError
from fabricdoc.export import FORMATS, format_named, render, starting_preset
from fabricdoc.export.starting import NOT_MEASURED, cables_of, shapes_of
from fabricdoc.export.starting_files import of_platform, starting_presets
from fabricdoc.fabric import selected, traced
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.nccl import catalogue
from tests.fabrics.recorded import RECORDED

pytestmark = pytest.mark.unit


def recorded(name: str) -> Fabric:
    return selected(traced(RECORDED[name]()))


@pytest.mark.parametrize(
    ("name", "platform", "chosen"),
    [
        ("spark-one-cable", "gb10", "gb10-pair-one-cable"),
        ("spark-one-crossed", "gb10", "gb10-pair-one-cable"),
        ("spark-foreign", "gb10", "gb10-pair-one-cable"),
        ("spark-straight", "gb10", "gb10-pair-two-cables"),
        ("spark-crossed", "gb10", "gb10-pair-two-cables"),
        ("spark-ring", "gb10", "gb10-ring"),
        ("spark-switch", "gb10", "gb10-switch"),
        ("servers", "servers", "servers-rails"),
    ],
)
def test_the_shape_decides(name: str, platform: str, chosen: str) -> None:
    found = starting_preset(platform, recorded(name))
    assert found.name == f"starting-{chosen}"
    assert found.exercised.startswith(NOT_MEASURED)
    assert "Nothing was measured" in found.not_exercised[0]
    assert all(
        line.evidence.startswith(NOT_MEASURED) and line.kind == "placed" for n in found.nodes for line in n.lines
    )
    assert [node.name for node in found.fingerprint.nodes] == [node.name for node in found.nodes]


@pytest.mark.parametrize("name", ["spark-one-crossed", "spark-crossed"])
def test_each_node_of_a_crossed_pair_gets_its_own_list(name: str) -> None:
    found = starting_preset("gb10", recorded(name))
    lists = [{line.name: line.value for line in node.lines}["NCCL_IB_HCA"] for node in found.nodes]
    assert lists == ["=rocep1s0f0,roceP2p1s0f0", "=rocep1s0f1,roceP2p1s0f1"]


def test_two_cables_list_one_and_all_ports_bring_the_advice() -> None:
    pair = {line.name: line.value for line in starting_preset("gb10", recorded("spark-straight")).nodes[0].lines}
    assert pair["NCCL_IB_HCA"] == "=rocep1s0f0,roceP2p1s0f0"
    assert "NCCL_IB_MERGE_NICS" not in pair
    ring = {line.name: line.value for line in starting_preset("gb10", recorded("spark-ring")).nodes[0].lines}
    assert ring["NCCL_IB_SUBNET_AWARE_ROUTING"] == "1"
    assert ring["NCCL_IB_HCA"].count(",") == 3
    assert ring["NCCL_SOCKET_IFNAME"] == "=enP7s7"


def test_a_port_that_leads_elsewhere_is_never_listed() -> None:
    fabric = recorded("spark-foreign")
    assert fabric.selectors is not None
    listed = {hca for node in fabric.selectors.nodes for one in node.sets for hca in one.hcas}
    for node in starting_preset("gb10", fabric).nodes:
        value = next(line.value for line in node.lines if line.name == "NCCL_IB_HCA")
        assert set(value[1:].split(",")) <= listed


def test_the_fingerprint_holds_the_listed_ports_with_their_peers() -> None:
    found = starting_preset("gb10", recorded("spark-one-crossed"))
    for printed in found.fingerprint.nodes:
        assert len(printed.ports) == 2
        assert all(port.peer and port.addresses and port.hca for port in printed.ports)
        assert isinstance(printed.nccl, Unknown)


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_carries_it(fmt: str) -> None:
    found = starting_preset("gb10", recorded("spark-one-crossed"))
    node = found.nodes[0] if format_named(fmt).scope == "node" else None
    assert render(found, node, fmt)


def test_nodes_of_another_kind_are_refused() -> None:
    with pytest.raises(UsageError, match="H100"):
        starting_preset("gb10", recorded("servers"))
    with pytest.raises(UsageError, match="no starting preset of platform servers for 3 nodes"):
        starting_preset("servers", recorded("spark-ring"))
    with pytest.raises(UsageError) as caught:
        starting_preset("mac", recorded("spark-ring"))
    assert caught.value.fix == "use one of: gb10, servers"


def test_without_a_proven_link_nothing_is_listed() -> None:
    fabric = recorded("spark-straight")
    with pytest.raises(InconclusiveError, match="no frames"):
        starting_preset("gb10", fabric.model_copy(update={"links": Unknown(unknown="no frames"), "selectors": None}))
    with pytest.raises(InconclusiveError, match="no link between nodes is proven"):
        starting_preset("gb10", selected(fabric.model_copy(update={"links": ()})))
    with pytest.raises(UsageError, match="two nodes"):
        starting_preset("gb10", recorded("laptop"))
    failed = fabric.model_copy(update={"failed": (FailedNode(name="x", target="x", id="i", message="m"),)})
    with pytest.raises(InconclusiveError, match="x could not be looked at") as caught:
        starting_preset("gb10", failed)
    names = ",".join(node.name if node.name == node.target else f"{node.name}={node.target}" for node in fabric.nodes)
    assert caught.value.fix == f"make it answer: fabricdoc scan --nodes {names},x"


def test_ports_without_rdma_give_no_preset_for_sockets() -> None:
    fabric = recorded("spark-one-cable")
    assert fabric.selectors is not None
    bare = tuple(
        node.model_copy(update={"sets": tuple(one.model_copy(update={"hcas": ()}) for one in node.sets)})
        for node in fabric.selectors.nodes
    )
    none = fabric.model_copy(update={"selectors": fabric.selectors.model_copy(update={"nodes": bare})})
    with pytest.raises(InconclusiveError, match="have no RDMA device"):
        starting_preset("gb10", none)


def test_gpus_that_can_not_be_read_let_the_platform_pass() -> None:
    fabric = recorded("spark-one-cable")
    nodes = tuple(node.model_copy(update={"gpus": Unknown(unknown="no driver")}) for node in fabric.nodes)
    assert starting_preset("gb10", fabric.model_copy(update={"nodes": nodes}))


@pytest.mark.long
def test_shapes_and_cables() -> None:
    told = {name: (shapes_of(recorded(name))[:1], cables_of(recorded(name))) for name in RECORDED}
    assert told["spark-one-cable"] == (("pair",), 1)
    assert told["spark-straight"] == (("pair",), 2)
    assert told["spark-ring"] == (("ring",), 2)
    assert told["spark-switch"] == (("switch",), 1)
    assert told["laptop"] == ((), 0)


def test_three_nodes_on_a_switch_are_no_ring_and_no_pair() -> None:
    fabric = RECORDED["spark-switch"]()
    assert isinstance(fabric.links, tuple)
    gone = fabric.nodes[-1].name
    links = tuple(link for link in fabric.links if gone not in (link.a.node, link.b.node))
    three = selected(traced(fabric.model_copy(update={"nodes": fabric.nodes[:-1], "links": links})))
    assert shapes_of(three)[0] == "switch"
    assert starting_preset("gb10", three).name == "starting-gb10-switch"


@pytest.mark.parametrize("one", starting_presets(), ids=lambda one: one.name)
def test_every_value_has_a_source_and_is_a_variable_of_nccl(one: object) -> None:
    found = next(other for other in starting_presets() if other is one or other == one)
    assert found.source
    assert found.summary
    for line in found.lines:
        assert line.source
        assert line.why
        assert line.name in catalogue(), line.name
        assert not format_named("env").refuse(line.name, line.value)
    assert not {line.name for line in found.lines} & {gone.name for gone in found.left_out}
    assert all(gone.why for gone in found.left_out)


def test_gb10_never_gets_what_its_gpu_ignores() -> None:
    for one in of_platform("gb10"):
        names = {line.name for line in one.lines}
        assert not [name for name in names if "GDR" in name or "DMABUF" in name or name == "NCCL_PROTO"]
