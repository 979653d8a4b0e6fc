"""Which interfaces count as fabric, and their networks."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.ports import fabric_netdevs, hcas_of, is_link_local, netdevs_of, networks, parsed, roce_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Netdev
from tests.fabrics import hca, netdev, node

pytestmark = pytest.mark.unit


def kind(name: str, kind: str | None, **changed: object) -> Netdev:
    return netdev(name, ip="10.0.0.1").model_copy(update={"kind": kind, **changed})


def names(found: tuple[Netdev, ...]) -> list[str]:
    return [one.name for one in found]


def test_with_hcas_only_their_interfaces_count() -> None:
    found = node("a", netdevs=[kind("eth0", None), kind("p0", None)], hcas=[hca("rocep1s0f0", "p0")])
    assert names(fabric_netdevs(found)) == ["p0"]


def test_interfaces_that_gids_name_count_too() -> None:
    port = hca("mlx5_0", "p0").ports[0]
    assert not isinstance(port.gids, Unknown)
    vlan = port.gids[0].model_copy(update={"index": 5, "netdev": "p0.100"})
    device = hca("mlx5_0", "p0").model_copy(update={"ports": (port.model_copy(update={"gids": (*port.gids, vlan)}),)})
    found = node("a", netdevs=[kind("p0", None), kind("p0.100", "vlan"), kind("eth0", None)], hcas=[device])
    assert names(fabric_netdevs(found)) == ["p0", "p0.100"]


@pytest.mark.parametrize(
    "device",
    [
        hca("mlx5_0", "p0", state="DOWN"),
        hca("mlx5_0", "elsewhere"),
        hca("mlx5_0", "p0").model_copy(
            update={"ports": (hca("mlx5_0", "p0").ports[0].model_copy(update={"link_layer": "InfiniBand"}),)}
        ),
        hca("mlx5_0", "p0").model_copy(
            update={
                "ports": (hca("mlx5_0", "p0").ports[0].model_copy(update={"netdev": Unknown(unknown="elsewhere")}),)
            }
        ),
    ],
)
def test_an_hca_that_is_down_or_elsewhere_is_no_roce_port(device: object) -> None:
    found = node("a", netdevs=[kind("p0", "veth")], hcas=[device])  # type: ignore[list-item]
    assert roce_ports(found) == ()
    assert names(fabric_netdevs(found)) == ["p0"]


def test_without_hcas_what_leads_out_counts() -> None:
    inside = [
        kind("lo", None),
        kind("docker0", "bridge"),
        kind("veth1", "veth", master="docker0"),
        kind("tailscale0", "tun"),
        kind("dummy0", "dummy"),
        kind("ifb0", "ifb"),
    ]
    outside = [
        kind("eth0", None),
        kind("rail0", "veth"),
        kind("bond0", "bond"),
        kind("br0", "bridge"),
        kind("eth1", None, master="br0"),
    ]
    assert names(fabric_netdevs(node("a", netdevs=[*inside, *outside]))) == [
        "veth1",
        "eth0",
        "rail0",
        "bond0",
        "br0",
        "eth1",
    ]


def test_a_port_without_carrier_does_not_count() -> None:
    assert fabric_netdevs(node("a", netdevs=[netdev("p0", ip="10.0.0.1", up=False)])) == ()
    unsure = kind("p0", "veth", carrier=Unknown(unknown="x"))
    assert fabric_netdevs(node("a", netdevs=[unsure])) == ()


def test_unknown_sections_have_nothing() -> None:
    found = node("a").model_copy(update={"netdevs": Unknown(unknown="x"), "hcas": Unknown(unknown="x")})
    assert (netdevs_of(found), hcas_of(found), roce_ports(found), fabric_netdevs(found)) == ((), (), (), ())


def test_networks_are_ipv4_and_wider_than_one_address() -> None:
    addresses = (
        Address(ip="10.77.0.1", prefix=24, family="ipv4"),
        Address(ip="169.254.3.4", prefix=16, family="ipv4", scope="link"),
        Address(ip="10.9.9.9", prefix=32, family="ipv4"),
        Address(ip="127.0.0.1", prefix=8, family="ipv4", scope="host"),
        Address(ip="127.0.0.2", prefix=8, family="ipv4"),
        Address(ip="fd00::1", prefix=64, family="ipv6"),
    )
    found = kind("p0", None, addresses=addresses)
    assert [network for network, _address in networks(found)] == ["10.77.0.0/24", "169.254.0.0/16"]
    assert [is_link_local(network) for network, _address in networks(found)] == [False, True]


def test_an_address_that_is_none_is_an_error_of_the_document() -> None:
    broken = kind("p0", None, addresses=(Address(ip="10.77.0", prefix=24, family="ipv4"),))
    assert list(networks(broken)) == []


@given(st.integers(0, 2**32 - 1), st.integers(0, 31))
def test_networks_by_arithmetic_are_those_of_the_library(number: int, prefix: int) -> None:
    address = ipaddress.IPv4Address(number)
    found = kind("p0", None, addresses=(Address(ip=str(address), prefix=prefix, family="ipv4"),))
    wanted = ipaddress.ip_network(f"{address}/{prefix}", strict=False)
    is_loopback = address.is_loopback and prefix >= 8
    assert [network for network, _address in networks(found)] == ([] if is_loopback else [str(wanted)])
    assert parsed(str(wanted)) == wanted
    assert is_link_local(str(wanted)) == wanted.is_link_local


@pytest.mark.parametrize("ip", ["", "10.0.0", "10.0.0.256", "fe80::1", "10.0.0.1/24", "x"])
def test_what_is_no_ipv4_address_has_no_network(ip: str) -> None:
    assert networks(kind("p0", None, addresses=(Address(ip=ip, prefix=24, family="ipv4"),))) == ()
    assert networks(kind("p0", None, addresses=(Address(ip="10.0.0.1", prefix=-1, family="ipv4"),))) == ()
