"""Routes of the main table: hand-made messages, next hops, and what is left out."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from fabricdoc.model.fabric import Route
from fabricdoc.probes import routes
from fabricdoc.probes.netlink import InterfaceNames
from tests.netlink_messages import nest, route_body

pytestmark = pytest.mark.unit

LO = socket.if_nametoindex("lo")
OIF = (4, struct.pack("=I", LO))
NET = (1, bytes([10, 77, 0, 0]))


def read(body: bytes) -> list[dict[str, Any]]:
    return routes.routes(body, InterfaceNames())


def hop(index: int, gateway: bytes) -> bytes:
    attributes = nest([(5, gateway)])
    return struct.pack("=HBBi", 8 + len(attributes), 0, 0, index) + attributes


def test_a_subnet_route_has_its_source() -> None:
    body = route_body([NET, OIF, (7, bytes([10, 77, 0, 1]))], length=24)
    assert read(body) == [
        {"destination": "10.77.0.0/24", "source": "10.77.0.1", "family": "ipv4", "netdev": "lo", "gateway": None}
    ]


def test_a_default_route_has_its_gateway() -> None:
    (found,) = read(route_body([OIF, (5, bytes([10, 0, 0, 1]))]))
    assert (found["destination"], found["gateway"]) == ("default", "10.0.0.1")
    assert Route.model_validate(found).netdev == "lo"


def test_ipv6_and_a_gateway_of_the_other_family() -> None:
    ula = bytes.fromhex("fd00" + "00" * 14)
    (found,) = read(route_body([(1, ula), OIF], family=10, length=64))
    assert (found["destination"], found["family"]) == ("fd00::/64", "ipv6")
    via = struct.pack("=H", socket.AF_INET6) + ula
    assert read(route_body([OIF, (18, via)]))[0]["gateway"] == "fd00::"


def test_every_next_hop_is_a_route() -> None:
    hops = hop(LO, bytes([10, 0, 0, 1])) + hop(LO, bytes([10, 0, 0, 2]))
    assert [found["gateway"] for found in read(route_body([(9, hops)]))] == ["10.0.0.1", "10.0.0.2"]


def test_a_hop_over_an_interface_that_is_gone_is_left_out() -> None:
    gone = hop(2_000_000_000, bytes([10, 0, 0, 1]))
    assert [found["netdev"] for found in read(route_body([(9, gone + hop(LO, bytes([10, 0, 0, 2])))]))] == ["lo"]
    assert read(route_body([NET])) == []


@pytest.mark.parametrize("length", [0, 7, 200])
def test_a_hop_of_a_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="next hop of length"):
        read(route_body([(9, struct.pack("=HBBi", length, 0, 0, LO))]))


@pytest.mark.parametrize("changed", [{"table": 255}, {"kind": 3}, {"flags": 0x200}, {"family": 7}])
def test_other_tables_types_and_families_are_left_out(changed: dict[str, int]) -> None:
    assert read(route_body([NET, OIF], length=24, **changed)) == []


def test_the_table_attribute_beats_the_byte() -> None:
    table = (15, struct.pack("=I", 1000))
    assert read(route_body([NET, OIF, table], length=24)) == []
    main = (15, struct.pack("=I", 254))
    assert len(read(route_body([NET, OIF, main], length=24, table=252))) == 1


def test_this_kernels_routes_have_the_models_fields() -> None:
    for found in routes.read_routes():
        Route.model_validate(found)
