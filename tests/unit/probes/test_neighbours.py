"""The neighbour table: states, entries without a MAC, what is left out, hostile bytes, and this kernel's own."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.netdev import Neighbour
from fabricdoc.probes import neighbours
from fabricdoc.probes.facts import READ_ERRORS
from fabricdoc.probes.netlink import InterfaceNames
from tests.netlink_messages import neighbour_body

pytestmark = pytest.mark.unit

LO = socket.if_nametoindex("lo")
PEER = (1, bytes([10, 77, 0, 2]))
MAC = (2, bytes.fromhex("4ebcea000002"))


def read(body: bytes) -> list[dict[str, object]]:
    return neighbours.neighbours(body, InterfaceNames())


def test_a_peer_that_answered() -> None:
    (found,) = read(neighbour_body(LO, 0x02, [PEER, MAC]))
    assert found == {"ip": "10.77.0.2", "netdev": "lo", "mac": "4e:bc:ea:00:00:02", "state": "reachable"}
    assert Neighbour.model_validate(found).mac == "4e:bc:ea:00:00:02"


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (0x01, "incomplete"),
        (0x04, "stale"),
        (0x08, "delay"),
        (0x10, "probe"),
        (0x20, "failed"),
        (0x80, "permanent"),
        (0x100, "state 0x100"),
    ],
)
def test_states_are_the_kernels_words(state: int, word: str) -> None:
    assert [one["state"] for one in read(neighbour_body(LO, state, [PEER, MAC]))] == [word]


def test_a_peer_that_nobody_answers_for_has_no_mac() -> None:
    for attributes in ([PEER], [PEER, (2, b"")]):
        (found,) = read(neighbour_body(LO, 0x20, attributes))
        assert (found["mac"], found["state"]) == (None, "failed")


def test_ipv6() -> None:
    (found,) = read(neighbour_body(LO, 0x04, [(1, bytes.fromhex("fe80" + "00" * 13 + "09")), MAC], family=10))
    assert found["ip"] == "fe80::9"


@pytest.mark.parametrize("state", [0x00, 0x40])
def test_the_kernels_own_entries_are_left_out(state: int) -> None:
    assert read(neighbour_body(LO, state, [PEER, MAC])) == []


def test_other_families_no_address_and_interfaces_that_are_gone_are_left_out() -> None:
    assert read(neighbour_body(LO, 0x02, [PEER, MAC], family=7)) == []
    assert read(neighbour_body(LO, 0x02, [MAC])) == []
    assert read(neighbour_body(2_000_000_000, 0x02, [PEER, MAC])) == []


def test_an_infiniband_address_is_shown_whole() -> None:
    (found,) = read(neighbour_body(LO, 0x02, [PEER, (2, bytes(range(20)))]))
    assert found["mac"] == bytes(range(20)).hex(":")


def test_this_kernels_neighbours_have_the_models_fields() -> None:
    for found in neighbours.read_neighbours():
        assert Neighbour.model_validate(found).state


@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_are_neighbours_or_an_error_that_a_fact_can_hold(data: bytes, led: bool) -> None:
    body = neighbour_body(LO, 2, []) + data if led else data
    try:
        found = read(body)
    except READ_ERRORS:
        return
    for one in found:
        Neighbour.model_validate(one)
