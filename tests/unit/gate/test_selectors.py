"""The HCAs and interfaces that a preset names: there, ACTIVE, with their GID."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.selectors import judge_selectors
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Node
from fabricdoc.model.gate import GateCheck

pytestmark = pytest.mark.unit

F0, F1 = "enp1s0f0np0", "enp1s0f1np1"
BOTH = {"NCCL_IB_HCA": "=rocep1s0f0,rocep1s0f1"}
V2 = Gid(index=3, gid="0000:0000:0000:0000:0000:ffff:0a4d:0001", type="RoCE v2", netdev=F0, ipv4="10.77.0.1")


def with_port(fabric: Fabric, number: int, **fields: Any) -> Node:
    node = fabric.nodes[0]
    assert not isinstance(node.hcas, Unknown)
    hcas = list(node.hcas)
    changed = hcas[number].ports[0].model_copy(update=fields)
    hcas[number] = hcas[number].model_copy(update={"ports": (changed,)})
    return node.model_copy(update={"hcas": tuple(hcas)})


def healthy(fabric: Fabric) -> Node:
    node = with_port(fabric, 0, gids=(V2,))
    return with_port(fabric.model_copy(update={"nodes": (node,)}), 1, gids=(V2,))


def told(node: Node, variables: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(one.id, one.port, one.outcome) for one in judge_selectors(node, variables)]


def bad(node: Node, variables: dict[str, str]) -> list[GateCheck]:
    return [one for one in judge_selectors(node, variables) if one.outcome != "ok"]


def test_every_hca_of_the_list_is_active_with_its_gid(fabric: Fabric) -> None:
    node = healthy(fabric)
    assert told(node, BOTH) == [
        ("hca-active", F0, "ok"),
        ("hca-gid", F0, "ok"),
        ("hca-active", F1, "ok"),
        ("hca-gid", F1, "ok"),
    ]
    assert judge_selectors(node, BOTH)[1].found == "10.77.0.1 at 3"
    assert told(node, {"NCCL_IB_HCA": "=rocep1s0f1"}) == [("hca-active", F1, "ok"), ("hca-gid", F1, "ok")]


def test_without_a_list_every_active_hca_counts(fabric: Fabric) -> None:
    node = healthy(fabric)
    assert [id for id, _port, _outcome in told(node, {})] == ["hca-active", "hca-gid"] * 2
    down = with_port(fabric.model_copy(update={"nodes": (node,)}), 0, state="DOWN")
    assert told(down, {}) == [("hca-active", F1, "ok"), ("hca-gid", F1, "ok")]


def test_a_port_of_the_list_that_is_down(fabric: Fabric) -> None:
    down = with_port(fabric.model_copy(update={"nodes": (healthy(fabric),)}), 0, state="DOWN")
    (only,) = bad(down, BOTH)
    assert (only.id, only.port, only.outcome) == ("hca-active", F0, "differs")
    assert (only.expected, only.found) == ("rocep1s0f0 port 1 ACTIVE", "DOWN")
    assert f"sudo ip link set dev {F0} up" in only.fix


def test_a_state_that_can_not_be_read_is_told_as_such(fabric: Fabric) -> None:
    blind = with_port(fabric, 0, state=Unknown(unknown="no sysfs"), netdev=Unknown(unknown="no netdev"))
    (only,) = [one for one in bad(blind, BOTH) if one.id == "hca-active"]
    assert (only.port, only.outcome, only.found) == ("", "unknown", "unknown: no sysfs")
    assert only.fix[-1] == "fabricdoc scan --nodes alpha"


def test_a_name_that_fits_no_hca(fabric: Fabric) -> None:
    (only,) = bad(healthy(fabric), {"NCCL_IB_HCA": "=rocep1s0f0,mlx5_9"})
    assert (only.id, only.port, only.expected) == ("hca-active", "", "an ACTIVE HCA mlx5_9")
    assert only.found == "rocep1s0f0, rocep1s0f1"
    none = healthy(fabric).model_copy(update={"hcas": ()})
    assert [one.found for one in bad(none, {"NCCL_IB_HCA": "=mlx5_9"})] == ["no HCA"]
    assert bad(none, {}) == []


@pytest.mark.parametrize(
    "gids",
    [(), (V2.model_copy(update={"ipv4": None}),), (V2.model_copy(update={"type": "IB/RoCE v1"}),)],
)
def test_without_an_ipv4_roce_v2_gid(fabric: Fabric, gids: tuple[Gid, ...]) -> None:
    bare = with_port(fabric.model_copy(update={"nodes": (healthy(fabric),)}), 1, gids=gids)
    (only,) = bad(bare, BOTH)
    assert (only.id, only.port, only.found) == ("hca-gid", F1, "none")
    assert only.fix


def table(*gids: Gid) -> tuple[Gid, ...]:
    link_local = Gid(index=0, gid="fe80:0000:0000:0000:0000:0000:0000:0001", type="RoCE v2", netdev=F0, ipv4=None)
    return (link_local, *gids)


@pytest.mark.parametrize(
    ("pin", "outcome", "found"),
    [
        ("3", "ok", "10.77.0.1 at 3"),
        ("+3", "ok", "10.77.0.1 at 3"),
        ("three", "ok", "10.77.0.1 at 3"),  # no number: NCCL's to refuse, and not held against the table
        ("-1", "ok", "10.77.0.1 at 3"),
        ("", "ok", "10.77.0.1 at 3"),
        ("99999999999", "ok", "10.77.0.1 at 3"),
        ("2", "noted", "10.77.0.1 at 2, RoCE v1"),
        ("1", "differs", "empty at 1; 10.77.0.1 at 3"),
        ("0", "differs", "fe80:0000:0000:0000:0000:0000:0000:0001 at 0; 10.77.0.1 at 3"),
    ],
)
def test_a_pinned_index_must_lead_to_that_gid(fabric: Fabric, pin: str, outcome: str, found: str) -> None:
    """The same value at another index is no help: NCCL takes the pinned one as it is."""
    v1 = V2.model_copy(update={"index": 2, "type": "IB/RoCE v1"})
    node = with_port(fabric.model_copy(update={"nodes": (healthy(fabric),)}), 1, gids=table(v1, V2))
    (one,) = [
        one
        for one in judge_selectors(node, {"NCCL_IB_HCA": "=rocep1s0f1", "NCCL_IB_GID_INDEX": pin})
        if one.id == "hca-gid"
    ]
    assert (one.node, one.port, one.outcome, one.found) == ("alpha", F1, outcome, found)
    if outcome == "differs":
        assert one.expected == f"an IPv4 RoCE v2 GID at index {pin} (NCCL_IB_GID_INDEX)"
        assert one.fix[0].startswith("leave NCCL_IB_GID_INDEX out: NCCL 2.21.5 and newer find index 3 of rocep1s0f1")


def test_an_index_is_brought_back_by_giving_the_address_again(fabric: Fabric) -> None:
    node = fabric.nodes[0]
    assert not isinstance(node.netdevs, Unknown)
    address = next(a for one in node.netdevs if one.name == F0 for a in one.addresses if a.family == "ipv4")
    moved = with_port(fabric, 0, gids=table(V2.model_copy(update={"ipv4": address.ip})))
    (only,) = [one for one in bad(moved, {**BOTH, "NCCL_IB_GID_INDEX": "1"}) if one.port == F0]
    assert only.fix[1].startswith("with an older one give the address again")
    assert f"sudo ip address del {address.ip}/{address.prefix} dev {F0}" in only.fix
    assert only.fix[-1] == f"sudo ip address add {address.ip}/{address.prefix} dev {F0}"


def test_infiniband_needs_none_and_unread_tables_are_unknown(fabric: Fabric) -> None:
    node = fabric.model_copy(update={"nodes": (healthy(fabric),)})
    assert bad(with_port(node, 1, gids=(), link_layer="InfiniBand"), BOTH) == []
    (only,) = bad(with_port(node, 1, gids=Unknown(unknown="EACCES")), BOTH)
    assert (only.id, only.outcome, only.found) == ("hca-gid", "unknown", "unknown: EACCES")
    blind = healthy(fabric).model_copy(update={"hcas": Unknown(unknown="no sysfs")})
    assert told(blind, BOTH) == [("hca-active", "", "unknown")]
    assert told(blind, {}) == []


def test_interfaces_that_the_preset_names(fabric: Fabric) -> None:
    node = healthy(fabric).model_copy(update={"hcas": ()})
    assert told(node, {"NCCL_SOCKET_IFNAME": "enp1s0f0"}) == [("interface", F0, "ok")]
    (only,) = bad(node, {"NCCL_SOCKET_IFNAME": "=eth7"})
    assert (only.expected, only.found) == ("NCCL_SOCKET_IFNAME==eth7", "none that is up")
    assert told(node, {"GLOO_SOCKET_IFNAME": f"{F0},eth7", "TP_SOCKET_IFNAME": F1}) == [
        ("interface", F0, "ok"),
        ("interface", "eth7", "differs"),
        ("interface", F1, "ok"),
    ]
    blind = node.model_copy(update={"netdevs": Unknown(unknown="no netlink")})
    assert told(blind, {"GLOO_SOCKET_IFNAME": F0}) == []
