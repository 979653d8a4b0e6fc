"""Multicast beacons: what the kernel says of a port's address, where a datagram arrived, and every refusal.

What crosses a wire is shown in the lab (tests/lab/test_cables_rights.py).
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from fabricdoc.probes import multicast
from fabricdoc.probes.multicast import CantHear, MulticastPort, arrived_on, await_address, link_local_flags

pytestmark = pytest.mark.unit

TABLE = """\
fe80000000000000ec2403fffe269f05 03 40 20 80 p0
20010db8000000000000000000000001 03 40 00 80 p0
fe80000000000000ec2403fffe269f06 04 40 20 c0 p1
fe80000000000000ec2403fffe269f07 05 40 20 88 p2
00000000000000000000000000000001 01 80 10 80       lo
"""


def table(tmp_path: Path, text: str = TABLE) -> str:
    path = tmp_path / "if_inet6"
    path.write_text(text)
    return str(path)


def settings(tmp_path: Path, **values: str) -> str:
    folder = tmp_path / "conf" / "p9"
    folder.mkdir(parents=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")
    return str(tmp_path / "conf")


def test_only_link_local_addresses_of_that_port_count(tmp_path: Path) -> None:
    path = table(tmp_path)
    assert link_local_flags("p0", path) == [0x80]
    assert link_local_flags("p1", path) == [0xC0]
    assert link_local_flags("lo", path) == []
    assert link_local_flags("p", path) == []


def test_no_table_is_a_kernel_without_ipv6(tmp_path: Path) -> None:
    with pytest.raises(CantHear, match="no IPv6") as refused:
        link_local_flags("p0", str(tmp_path / "none"))
    assert refused.value.lack == "no-ipv6"


@pytest.mark.parametrize(
    ("netdev", "lack"), [("p0", ""), ("p1", "tentative"), ("p2", "duplicate"), ("p9", "no-address")]
)
def test_an_address_is_usable_or_there_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netdev: str, lack: str
) -> None:
    path = table(tmp_path)
    monkeypatch.setattr(multicast, "link_local_flags", lambda name: link_local_flags(name, path))
    try:
        await_address(netdev, 0.0)
        found = ""
    except CantHear as error:
        found = error.lack
    assert found == lack


def test_an_address_under_check_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[0xC0], [0xC0], [0x80]]
    monkeypatch.setattr(multicast, "link_local_flags", lambda _name: answers.pop(0))
    monkeypatch.setattr(multicast, "POLL_S", 0.0)
    await_address("p1", 60.0)
    assert answers == []


@pytest.mark.parametrize(
    ("values", "lack", "text"),
    [
        ({"disable_ipv6": "1", "addr_gen_mode": "1"}, "ipv6-off", "IPv6 is off on it (disable_ipv6 is 1)"),
        ({"disable_ipv6": "0", "addr_gen_mode": "1"}, "no-address", "none is made on it (addr_gen_mode is 1)"),
        ({"disable_ipv6": "0", "addr_gen_mode": "0"}, "no-address", "no IPv6 link-local address"),
        ({}, "no-address", "no IPv6 link-local address"),
    ],
)
def test_the_settings_tell_why_there_is_no_address(
    tmp_path: Path, values: dict[str, str], lack: str, text: str
) -> None:
    error = multicast.without_address("p9", settings(tmp_path, **values))
    assert error.lack == lack
    assert str(error.strerror).endswith(text)


def test_a_port_of_a_bond_has_its_addresses_there(tmp_path: Path) -> None:
    (tmp_path / "net" / "bond0").mkdir(parents=True)
    (tmp_path / "net" / "p9").mkdir()
    (tmp_path / "net" / "p9" / "master").symlink_to(tmp_path / "net" / "bond0")
    error = multicast.without_address("p9", settings(tmp_path, disable_ipv6="1"), str(tmp_path / "net"))
    assert error.lack == "member"
    assert str(error.strerror).endswith("it belongs to bond0, which has its addresses")


def pktinfo(index: int) -> tuple[int, int, bytes]:
    return (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, bytes(16) + struct.pack("I", index))


def test_the_interface_a_datagram_arrived_on_is_read_from_its_own_message_only() -> None:
    assert arrived_on([pktinfo(7)]) == 7
    assert arrived_on([(socket.SOL_SOCKET, socket.IPV6_PKTINFO, bytes(16) + struct.pack("I", 3)), pktinfo(4)]) == 4
    assert arrived_on([]) == 0
    assert arrived_on([(socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, b"short")]) == 0


def test_a_port_that_is_not_there_is_refused() -> None:
    with pytest.raises(OSError):
        MulticastPort("no-such-port0", b"nonce-01")


def test_loopback_has_no_link_local_address() -> None:
    with pytest.raises(CantHear) as refused:
        MulticastPort("lo", b"nonce-01")
    assert refused.value.lack in ("no-address", "no-ipv6", "ipv6-off")


def test_the_port_number_is_one_no_connection_takes_by_itself() -> None:
    low, _high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    assert int(low) > multicast.PORT > 1024
