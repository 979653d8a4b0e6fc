"""Replaced addresses keep what they share and nothing else."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps.addresses import Addresses, must_move, tail_of

pytestmark = pytest.mark.unit

V4 = st.integers(0, 2**32 - 1).map(lambda value: str(ipaddress.IPv4Address(value)))
V6 = st.integers(2, 2**128 - 1).map(lambda value: str(ipaddress.IPv6Address(value)))
SEEDS = st.binary(min_size=4, max_size=4)
CLASSES = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8"]


def spread(first: str, second: str) -> int:
    """How many leading bits two addresses share."""
    a, b = ipaddress.ip_address(first), ipaddress.ip_address(second)
    return a.max_prefixlen - (int(a) ^ int(b)).bit_length()


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(SEEDS, V4, V4)
def test_ipv4_addresses_share_as_many_bits_as_before(seed: bytes, first: str, second: str) -> None:
    book = Addresses([], seed)
    assert spread(book.ip(first), book.ip(second)) == spread(first, second)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(SEEDS, V4, st.integers(0, 255), st.integers(8, 32))
def test_a_network_holds_after_what_it_held_before(seed: bytes, ip: str, host: int, prefix: int) -> None:
    book = Addresses([], seed)
    network = ipaddress.ip_network(f"{ip}/{prefix}", strict=False)
    new = ipaddress.ip_network(f"{book.ip(str(network.network_address), prefix)}/{prefix}")
    member = ipaddress.ip_address(int(network.network_address) + host % network.num_addresses)
    assert ipaddress.ip_address(book.ip(str(member))) in new


@pytest.mark.parametrize("network", CLASSES)
@given(SEEDS, st.integers(0, 2**24 - 1))
@settings(max_examples=30, deadline=None)
def test_the_class_stays(network: str, seed: bytes, offset: int) -> None:
    space = ipaddress.ip_network(network)
    old = space.network_address + offset % space.num_addresses
    assert ipaddress.ip_address(Addresses([], seed).ip(str(old))) in space


@settings(max_examples=100, deadline=None)
@given(SEEDS, V4)
def test_a_mapped_address_follows_its_ipv4(seed: bytes, ip: str) -> None:
    book = Addresses([], seed)
    new = book.ip(ip)
    assert book.ip(f"::ffff:{ip}") == f"::ffff:{new}"
    full = ":".join(f"{int(ipaddress.IPv6Address(f'::ffff:{ip}')):032x}"[at : at + 4] for at in range(0, 32, 4))
    assert ipaddress.IPv6Address(book.ip(full)).ipv4_mapped == ipaddress.IPv4Address(new)
    assert len(book.ip(full)) == 39


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(SEEDS, V6, V6)
def test_ipv6_classes_and_subnets_stay(seed: bytes, first: str, second: str) -> None:
    book = Addresses([], seed)
    for old in (first, second):
        was, now = ipaddress.IPv6Address(old), ipaddress.IPv6Address(book.ip(old))
        assert (was.is_link_local, was.is_multicast, was.is_private) == (
            now.is_link_local,
            now.is_multicast,
            now.is_private,
        ) or (int(was) >> 125 == 1)
    if spread(first, second) >= 64 and ipaddress.IPv6Address(first).ipv4_mapped is None:
        assert spread(book.ip(first), book.ip(second)) >= 64


def test_special_addresses_stay() -> None:
    book = Addresses([], b"x")
    for ip in ("127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "ff02::1"):
        assert book.ip(ip) == ip
    assert book.ip("0.0.0.0", 0) == "0.0.0.0"
    assert book.mac("ff:ff:ff:ff:ff:ff") == "ff:ff:ff:ff:ff:ff"
    assert book.mac("00:00:00:00:00:00") == "00:00:00:00:00:00"
    assert book.guid("0000:0000:0000:0000") == "0000:0000:0000:0000"


SPARK = ("0a0b:0c03:00d0:1110", "0a0b:0c03:00d0:1111", "0a0b:0c03:00d0:1114", "0a0b:0c03:00d0:1115")


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_offsets_between_functions_stay(seed: bytes) -> None:
    macs = ("0a:0b:0c:d0:11:10", "0a:0b:0c:d0:11:11", "0a:0b:0c:99:88:77")
    tails = [tail for text in (*SPARK, *macs) if (tail := tail_of(text)) is not None]
    book = Addresses(tails, seed)
    new = [int(book.guid(one).replace(":", ""), 16) for one in SPARK]
    assert [value - new[0] for value in new] == [0, 1, 4, 5]
    assert book.guid(SPARK[0])[-7:].replace(":", "") == book.mac(macs[0]).replace(":", "")[-6:]
    assert int(book.mac(macs[1]).replace(":", ""), 16) - int(book.mac(macs[0]).replace(":", ""), 16) == 1
    assert book.mac(macs[0]).startswith("0a:0b:0c:")
    assert not {tail_of(book.mac(one)) for one in macs} & set(tails)


def test_a_link_local_address_follows_its_mac() -> None:
    mac, ip = "0a:0b:0c:03:11:10", "fe80::80b:cff:fe03:1110"
    tails = [tail for text in (mac, ip) if (tail := tail_of(text)) is not None]
    assert tails[0] == tails[1]
    book = Addresses(tails, b"seed")
    new = book.mac(mac).split(":")
    assert book.ip(ip) == ipaddress.IPv6Address(f"fe80::80b:cff:fe{new[3]}:{new[4]}{new[5]}").compressed


def test_tails() -> None:
    assert tail_of("0a:0b:0c:03:11:10") == 0x031110
    assert tail_of("0a0b:0c03:00d0:1110") == 0xD01110
    assert tail_of("fe80::a0b:cff:fe03:1110") == 0x031110
    assert [tail_of(text) for text in ("10.0.0.1", "fe80::1", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "x")] == [
        None
    ] * 5


@given(st.lists(st.integers(0, 2**24 - 1), max_size=200), SEEDS)
@settings(max_examples=30, deadline=None)
def test_tails_move_apart_and_never_meet_old_ones(tails: list[int], seed: bytes) -> None:
    book = Addresses(tails, seed)
    texts = {f"02:00:00:{tail:06x}" for tail in tails}
    macs = {":".join([*text[:8].split(":"), text[9:11], text[11:13], text[13:15]]) for text in texts}
    macs.discard("02:00:00:00:00:00")
    new = {book.mac(mac) for mac in macs}
    assert len(new) == len(macs)
    assert not new & macs


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1.2.3.4.5", "::g"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Addresses([], b"x").ip(text)


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("192.168.1.2", True),
        ("10.0.0.1", True),
        ("8.8.8.8", True),
        ("127.0.0.1", False),
        ("224.0.0.1", False),
        ("fe80::1", False),
    ],
)
def test_an_ipv4_address_may_stay_only_where_its_class_says_it_all(text: str, moves: bool) -> None:
    assert must_move(text) is moves


@given(SEEDS, V4)
def test_one_seed_gives_one_answer(seed: bytes, ip: str) -> None:
    assert Addresses([], seed).ip(ip) == Addresses([], seed).ip(ip)
