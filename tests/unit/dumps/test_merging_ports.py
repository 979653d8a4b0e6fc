"""HCAs and ports out of single facts."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.merging_ports import NOT_TOLD, hcas

pytestmark = pytest.mark.unit

GID = {"gid": "0000:0000:0000:0000:0000:ffff:0a4d:0001", "type": "RoCE v2", "ipv4": "10.77.0.1", "link_local": False}


def test_a_port_alone_makes_its_hca() -> None:
    (one,) = hcas({("port", "m0", 2): {"state": "DOWN"}})
    assert one["name"] == "m0"
    assert one["firmware"] == NOT_TOLD
    (port,) = one["ports"]
    assert (port["number"], port["state"], port["gids"]) == (2, "DOWN", NOT_TOLD)


def test_ports_and_gids_come_by_number() -> None:
    index = {("gid", "m0", 1, 9): GID, ("gid", "m0", 1, 3): GID, ("port", "m0", 2): {}, ("hca", "m0"): {"name": "m0"}}
    (one,) = hcas(index)
    assert [port["number"] for port in one["ports"]] == [1, 2]
    assert [gid["index"] for gid in one["ports"][0]["gids"]] == [3, 9]


def test_a_roce_v2_gid_says_ethernet_where_nobody_says_more() -> None:
    (one,) = hcas({("gid", "m0", 1, 3): GID})
    assert one["ports"][0]["link_layer"] == "Ethernet"
    (one,) = hcas({("gid", "m0", 1, 3): GID, ("port", "m0", 1): {"link_layer": "Odd"}})
    assert one["ports"][0]["link_layer"] == "Odd"
    (one,) = hcas({("gid", "m0", 1, 3): GID | {"type": "IB/RoCE v1"}})
    assert one["ports"][0]["link_layer"] == NOT_TOLD


def test_a_type_without_its_gid_is_no_slot() -> None:
    (one,) = hcas({("gid", "m0", 1, 3): {"type": "RoCE v2"}})
    assert one["ports"][0]["gids"] == NOT_TOLD


@pytest.mark.parametrize(
    ("name", "netdev", "pci"),
    [
        ("m0", {"pci": "0000:01:00.0", "driver": "mlx5_core"}, "0000:01:00.0"),
        ("m0", {"driver": "mlx5_core"}, NOT_TOLD),
        ("m0", {"pci": "0000:01:00.0", "kind": "vlan"}, NOT_TOLD),
        ("rxe0", {"pci": "0000:01:00.0"}, NOT_TOLD),
    ],
)
def test_an_hca_is_of_the_function_of_its_interface(name: str, netdev: dict[str, str], pci: object) -> None:
    (one,) = hcas({("port", name, 1): {"netdev": "e0"}, ("netdev", "e0"): netdev})
    assert one["pci"] == pci
    assert one["driver"] == (netdev["driver"] if pci != NOT_TOLD else NOT_TOLD)


def test_a_soft_device_under_any_name_is_of_no_function() -> None:
    about = {("netdev", "e0"): {"pci": "0000:01:00.0", "driver": "virtio_net"}, ("port", "m0", 1): {"netdev": "e0"}}
    (one,) = hcas({**about, ("hca", "m0"): {"driver": "rdma_rxe"}})
    assert (one["pci"], one["driver"]) == (NOT_TOLD, "rdma_rxe")


def test_what_is_told_of_the_hca_itself_counts_more() -> None:
    (one,) = hcas({("port", "m0", 1): {"netdev": "e0"}, ("netdev", "e0"): {"pci": "a"}, ("hca", "m0"): {"pci": "b"}})
    assert one["pci"] == "b"


def test_nothing_told_is_no_hca() -> None:
    assert hcas({("netdev", "e0"): {"name": "e0"}}) == []


def test_a_gid_table_is_of_its_port_alone() -> None:
    (one,) = hcas({("gid", "m0", 1, 3): GID, ("gid", "m0", 2, 5): GID})
    assert [[gid["index"] for gid in port["gids"]] for port in one["ports"]] == [[3], [5]]
