"""Addresses to propose: free ones, none twice, none where a subnet is full."""

from __future__ import annotations

import ipaddress
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.free_addresses import LOOKED_AT, Taken, add_line, remove_line
from fabricdoc.model.fabric import Address, Fabric
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit


def fabric(*ips: str, prefix: int = 24) -> Fabric:
    addresses = tuple(Address(ip=ip, prefix=prefix, family="ipv4") for ip in ips)
    return Fabric(nodes=(node("alpha", netdevs=[netdev("p0").model_copy(update={"addresses": addresses})]),))


def test_the_first_free_host_after_the_gateway_is_proposed_and_then_taken() -> None:
    taken = Taken(fabric("10.0.0.1", "10.0.0.2"))
    assert taken.free("10.0.0.0/24") == "10.0.0.3/24"
    assert taken.free("10.0.0.0/24") == "10.0.0.4/24"
    assert taken.free("10.9.0.0/24") == "10.9.0.2/24"


def test_a_full_subnet_has_none() -> None:
    assert Taken(fabric("10.0.0.0", prefix=31)).free("10.0.0.0/31") == "10.0.0.1/31"
    assert Taken(fabric("10.0.0.0", "10.0.0.1", prefix=31)).free("10.0.0.0/31") is None


@given(st.sets(st.integers(1, 14), max_size=14))
def test_what_is_proposed_is_in_the_subnet_and_nobodys(hosts: set[int]) -> None:
    used = {f"10.0.0.{host}" for host in hosts}
    proposed = Taken(fabric(*used, prefix=28)).free("10.0.0.0/28")
    if proposed is not None:
        address = ipaddress.ip_interface(proposed)
        assert str(address.ip) not in used
        assert address.network == ipaddress.ip_network("10.0.0.0/28")
    else:
        assert len(hosts) >= 13


def test_names_of_interfaces_are_quoted() -> None:
    assert add_line("10.0.0.2/24", "a;b") == "sudo ip address add 10.0.0.2/24 dev 'a;b'"
    assert remove_line("10.0.0.2/24", "p0") == "sudo ip address del 10.0.0.2/24 dev p0"


@pytest.mark.parametrize(
    ("network", "first"),
    [
        ("10.0.0.0/24", "10.0.0.2/24"),
        ("10.0.0.0/30", "10.0.0.2/30"),
        ("10.0.0.0/31", "10.0.0.0/31"),
        ("10.0.0.0/16", "10.0.0.2/16"),
    ],
)
def test_small_subnets_keep_no_place_for_a_gateway(network: str, first: str) -> None:
    assert Taken(Fabric()).free(network) == first


@pytest.mark.long
def test_a_crowded_wide_subnet_is_not_searched_for_ever() -> None:
    taken = Taken(Fabric())
    taken._collected()["10.0.0.0/8"] = {
        str(one) for one in islice(ipaddress.ip_network("10.0.0.0/8").hosts(), LOOKED_AT)
    }
    assert taken.free("10.0.0.0/8") is None
