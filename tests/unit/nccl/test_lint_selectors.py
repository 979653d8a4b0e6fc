"""Selectors on a node: nothing, too much, and what is just right; the near case of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node, Route
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_selectors import hca_names, interface_names, merged_names, switched_off
from tests.fabrics import hca, netdev, node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_straight

pytestmark = pytest.mark.unit

TEN = node(
    "n",
    hcas=[hca(f"mlx5_{number}", f"e{number}", state="DOWN" if number == 12 else "ACTIVE") for number in (0, 1, 10, 12)],
    netdevs=[
        netdev("eno1", ip="10.1.0.1"),
        netdev("e0"),
        netdev("docker0", ip="172.17.0.1"),
        netdev("lo", ip="127.0.0.1"),
    ],
)


def told(value: str, of: Node = TEN) -> list[tuple[str, str, str]]:
    found = hca_names({"NCCL_IB_HCA": value}, of)
    return [(one.id.removeprefix("selector-matches-"), one.severity, one.culprit) for one in found]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=mlx5_1", []),
        ("=mlx5_1:1,mlx5_0", []),
        ("mlx5_0", []),
        ("^mlx5_0", []),
        ("mlx5_1", [("too-much", "warning", "mlx5_1")]),
        ("mlx5_1:1", [("too-much", "warning", "mlx5_1:1")]),
        ("^mlx5_1", [("too-much", "warning", "mlx5_1")]),
        ("^=mlx5_1", []),
        ("mlx5", [("too-much", "info", "mlx5")]),
        ("=mlx5", [("nothing", "error", "=mlx5")]),
        ("=mlx5_1:2", [("nothing", "error", "=mlx5_1:2")]),
        ("=MLX5_1", [("nothing", "error", "=MLX5_1")]),
        ("mlx4", [("nothing", "error", "mlx4")]),
        ("=mlx5_12", [("nothing", "error", "=mlx5_12")]),
        ("=mlx5_0,mlx5_9", [("nothing", "warning", "mlx5_9")]),
        ("=mlx5_0,mlx5_12", [("nothing", "warning", "mlx5_12")]),
        ("^=mlx5_9", [("nothing", "info", "mlx5_9")]),
        ("", []),
    ],
)
def test_what_nccl_ib_hca_takes(value: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(value) == expected


def test_the_fix_can_be_pasted() -> None:
    (nothing,) = hca_names({"NCCL_IB_HCA": "mlx4"}, TEN)
    assert nothing.fix == "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_10" and "over TCP" in nothing.message
    (much,) = hca_names({"NCCL_IB_HCA": "mlx5_1:1"}, TEN)
    assert much.fix == "NCCL_IB_HCA==mlx5_1:1" and "mlx5_10" in much.message
    (excluded,) = hca_names({"NCCL_IB_HCA": "^mlx5_1"}, TEN)
    assert excluded.fix == "NCCL_IB_HCA=^=mlx5_1" and "excludes mlx5_10" in excluded.message


def with_default_route(netdev_name: str) -> Node:
    return TEN.model_copy(update={"routes": (Route(destination="default", netdev=netdev_name),)})


def test_a_management_port_is_too_much() -> None:
    (one,) = hca_names({"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}, with_default_route("e1"))
    assert one.id == "selector-matches-too-much" and "management port" in one.message and "e1" in one.message
    assert one.fix == "NCCL_IB_HCA==mlx5_0"
    assert told("=mlx5_0,mlx5_1", with_default_route("eno1")) == []
    assert told("=mlx5_1", with_default_route("e1")) == [], "where there is nothing else, it is meant"


def test_a_virtual_function_and_another_link_layer_are_too_much() -> None:
    hcas = [hca("rocep1s0f0", "a"), hca("rocep1s0f0v0", "b").model_copy(update={"physical_function": "0000:01:00.0"})]
    (prefix, virtual) = hca_names({"NCCL_IB_HCA": "rocep1s0f0"}, node("n", hcas=hcas))
    assert "rocep1s0f0v0" in prefix.message and "virtual function" in virtual.message
    bands = hca("ib0", "c")
    port = bands.ports[0].model_copy(update={"link_layer": "InfiniBand"})
    mixed = node("n", hcas=[hca("mlx5_0", "a"), bands.model_copy(update={"ports": (port,)})])
    (one,) = hca_names({"NCCL_IB_HCA": "=mlx5_0,ib0"}, mixed)
    assert "InfiniBand" in one.message


def test_twin_ports_of_one_card_are_told_and_rails_of_servers_are_not() -> None:
    (twins,) = hca_names({"NCCL_IB_HCA": "rocep1s0f"}, spark_straight().nodes[0])
    assert twins.severity == "warning" and "fuses" in twins.message
    assert told("rocep1s0f", spark_one_cable().nodes[0]) == [], "one of them is down, so only one is taken"
    (rails,) = hca_names({"NCCL_IB_HCA": "mlx5"}, eight_rail_servers(2).nodes[0])
    assert rails.severity == "info"


def test_what_is_not_known_is_not_judged() -> None:
    unknown = TEN.model_copy(update={"hcas": Unknown(unknown="no sysfs"), "netdevs": Unknown(unknown="no")})
    values = {"NCCL_IB_HCA": "mlx4", "NCCL_SOCKET_IFNAME": "eth9", "NCCL_IB_DISABLE": "1", "NCCL_NET_FORCE_MERGE": "x"}
    assert [*hca_names(values, unknown), *interface_names(values, unknown), *switched_off(values, unknown)] == []
    bare = node("n", netdevs=[netdev("eno1")])
    assert list(interface_names({"NCCL_SOCKET_IFNAME": "eth9", "GLOO_SOCKET_IFNAME": "eth9"}, bare)) == []
    assert list(merged_names(values, unknown)) == []


def interfaces(**values: str) -> list[Complaint]:
    return list(interface_names(values, TEN))


def test_interfaces() -> None:
    assert interfaces(NCCL_SOCKET_IFNAME="=eno1") == interfaces(NCCL_SOCKET_IFNAME="eno") == []
    assert interfaces(NCCL_SOCKET_IFNAME="e") == [], "a value of one character is ignored, which lint says by itself"
    assert interfaces(GLOO_SOCKET_IFNAME="eno1", TP_SOCKET_IFNAME="eno1") == []
    (none,) = interfaces(NCCL_SOCKET_IFNAME="bond0")
    assert (none.id, none.severity, none.fix) == ("selector-matches-nothing", "error", "NCCL_SOCKET_IFNAME==eno1")
    (part,) = interfaces(NCCL_SOCKET_IFNAME="=eno1,eth9")
    assert (part.severity, part.culprit) == ("warning", "eth9")
    (much,) = interfaces(NCCL_SOCKET_IFNAME="eno1,docker")
    assert much.id == "selector-matches-too-much" and "docker0" in much.message
    (all_but,) = interfaces(NCCL_SOCKET_IFNAME="^docker")
    assert "lo" in all_but.message and all_but.culprit == ""
    (gloo,) = interfaces(GLOO_SOCKET_IFNAME="=eno1")
    assert gloo.culprit == "=eno1" and gloo.fix == "GLOO_SOCKET_IFNAME=eno1"


def test_names_that_are_fused_must_be_there() -> None:
    assert list(merged_names({"NCCL_NET_FORCE_MERGE": "mlx5_0,mlx5_1:1"}, TEN)) == []
    (one,) = merged_names({"NCCL_NET_FORCE_MERGE": "mlx5_0,mlx5_12"}, TEN)
    assert one.culprit == "mlx5_12" and "refuses to start" in one.message


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"NCCL_IB_DISABLE": "1"}, "NCCL_IB_DISABLE"),
        ({"NCCL_NET": "socket"}, "NCCL_NET"),
        ({"NCCL_IB_DISABLE": "0"}, ""),
        ({"NCCL_NET": "IB"}, ""),
        ({}, ""),
    ],
)
def test_rdma_switched_off_where_it_would_work(values: dict[str, str], name: str) -> None:
    assert [one.name for one in switched_off(values, TEN)] == ([name] if name else [])


@given(st.text(alphabet='mlx5_019^=,:; \t"', max_size=30))
def test_no_value_breaks_it(value: str) -> None:
    values = {
        "NCCL_IB_HCA": value,
        "NCCL_SOCKET_IFNAME": value,
        "GLOO_SOCKET_IFNAME": value,
        "NCCL_NET_FORCE_MERGE": value,
    }
    for one in (*hca_names(values, TEN), *interface_names(values, TEN), *merged_names(values, TEN)):
        assert one.name in values and one.message
