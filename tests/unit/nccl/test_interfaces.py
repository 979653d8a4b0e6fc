"""NCCL_SOCKET_IFNAME by NCCL's grammar, and what NCCL takes without it; a plain reading of its source as oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.fabric import Address, Netdev
from fabricdoc.nccl.interfaces import MOST_NAMES, Interfaces, running, take_interfaces
from tests.fabrics import netdev

pytestmark = pytest.mark.unit

NAMES = ("enp1s0f0np0", "enP2p1s0f0np0", "docker0", "virbr0", "lo", "wlan0", "ibp1", "eth0", "eth01", "br-1")


def port(name: str, index: int, *, ip: str | None = "10.0.0.1", up: bool = True) -> Netdev:
    made = netdev(name, ip=ip, up=up).model_copy(update={"ifindex": index})
    return made.model_copy(update={"addresses": ()}) if ip is None else made


def ports(*names: str) -> list[Netdev]:
    return [port(name, at) for at, name in enumerate(names, start=1)]


def taken(value: str, *names: str) -> tuple[str, ...]:
    return take_interfaces(value, ports(*names)).taken


def test_a_name_takes_what_begins_so_and_equals_only_the_whole() -> None:
    assert taken("eth0", "eth0", "eth01", "wlan0") == ("eth0", "eth01")
    assert taken("=eth0", "eth0", "eth01", "wlan0") == ("eth0",)
    assert taken("^eth0,lo", "lo", "eth0", "eth01", "wlan0") == ("wlan0",)
    assert taken("^=eth0", "eth0", "eth01", "wlan0") == ("eth01", "wlan0")


def test_a_port_after_a_colon_is_not_read() -> None:
    assert taken("=eth0:2", "eth0", "eth01") == ("eth0",)


def test_a_caret_alone_with_an_equals_takes_nothing_and_an_equals_with_a_comma_everything() -> None:
    assert taken("^=", "eth0", "lo") == ()
    assert taken("=,", "eth0", "lo") == ("eth0", "lo")


@pytest.mark.parametrize("value", ["", "x", "^", "="])
def test_a_value_of_one_character_counts_as_none(value: str) -> None:
    found = take_interfaces(value, ports("docker0", "lo", "eth0", "xeth"))
    assert found == Interfaces(("eth0", "xeth"), ignored=True)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("lo", "eth0", "ibp1", "docker0"), ("ibp1",)),
        (("lo", "eth0", "wlan0", "docker0", "virbr0"), ("eth0", "wlan0")),
        (("virbr0", "lo", "docker0"), ("docker0",)),
        (("virbr0", "lo"), ("lo",)),
        (("virbr0",), ("virbr0",)),
        ((), ()),
    ],
)
def test_by_itself_nccl_tries_kinds_in_turn(names: tuple[str, ...], chosen: tuple[str, ...]) -> None:
    assert taken("", *names) == chosen


def test_the_order_is_ipv4_first_then_the_index() -> None:
    six = Address(ip="fd00::1", prefix=64, family="ipv6")
    bare = port("eth0", 1, ip=None).model_copy(update={"addresses": (six,)})
    assert take_interfaces("eth", [bare, port("eth2", 7), port("eth1", 9)]).taken == ("eth2", "eth1", "eth0")


def test_what_is_down_or_has_no_address_is_not_looked_at() -> None:
    loop6 = Address(ip="::1", prefix=128, family="ipv6", scope="host")
    lo = port("lo", 1, ip=None).model_copy(update={"addresses": (loop6,)})
    here = [lo, port("eth0", 2, up=False), port("eth1", 3, ip=None), port("eth2", 4)]
    assert [one.name for one in running(here)] == ["eth2"]
    found = take_interfaces("=eth0,eth1,eth2,eth9", here)
    assert (found.taken, found.unmatched, found.not_running) == (("eth2",), ("eth0", "eth1", "eth9"), ("eth0", "eth1"))


def test_sixteen_entries_are_read_and_sixteen_interfaces_kept() -> None:
    names = [f"e{number:02}" for number in range(40)]
    found = take_interfaces(f"={','.join(names[:20])}", ports(*names))
    assert (found.taken, found.dropped) == (tuple(names[:MOST_NAMES]), tuple(names[MOST_NAMES:20]))
    assert len(take_interfaces("^zz", ports(*names)).taken) == MOST_NAMES


def by_the_source(value: str, names: list[str]) -> list[str]:
    """ncclOsFindInterfaces of 2.30.7, statement by statement, for running interfaces of one family."""
    search_not = value[:1] == "^"
    value = value[search_not:]
    exact = value[:1] == "="
    value = value[exact:]
    listed = [text.split(":")[0][:63] for text in value.split(",") if text and text.split(":")[0]][:16]
    found: list[str] = []
    for name in names:
        hit = not listed or any((name == one) if exact else name[: len(one)] == one for one in listed)
        if hit ^ search_not and len(found) < 16:
            found.append(name)
    return found


WORDS = st.lists(st.sampled_from([*NAMES, "eth", "e", " eth0", "ETH0", "", "lo:1", "=eth0", "^lo"]), max_size=20)


@given(st.sampled_from(["", "^", "=", "^=", "=^"]), WORDS)
def test_any_value_is_read_as_the_source_reads_it(signs: str, words: list[str]) -> None:
    value = signs + ",".join(words)
    if len(value) > 1:
        assert list(taken(value, *NAMES)) == by_the_source(value, list(NAMES))


@given(st.text(max_size=40))
def test_any_text_is_read(value: str) -> None:
    found = take_interfaces(value, ports(*NAMES))
    assert set(found.taken) <= set(NAMES)
