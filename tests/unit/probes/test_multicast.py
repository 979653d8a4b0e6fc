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


class FakeUdp:
    """A UDP socket that notes its options, and whose datagrams are a list of (payload, interface index)."""

    made: list[FakeUdp]

    def __init__(self, family: int, kind: int) -> None:
        assert (family, kind) == (socket.AF_INET6, socket.SOCK_DGRAM)
        self.options: dict[int, object] = {}
        self.bound: tuple[object, ...] = ()
        self.sent: list[tuple[bytes, tuple[object, ...]]] = []
        self.waiting: list[tuple[bytes, int]] = []
        self.closed = False
        self.made.append(self)

    def __enter__(self) -> FakeUdp:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def setblocking(self, flag: bool) -> None:
        assert flag is False

    def setsockopt(self, level: int, option: int, value: object) -> None:
        assert not self.bound, "every option, the filter first, before anything can arrive"
        self.options[option if level == socket.IPPROTO_IPV6 else -option] = value

    def bind(self, address: tuple[object, ...]) -> None:
        self.bound = address

    def sendto(self, payload: bytes, address: tuple[object, ...]) -> int:
        if len(self.sent) >= 4:
            raise OSError(101, "Network is unreachable")
        self.sent.append((payload, address))
        return len(payload)

    def recvmsg(self, limit: int, _room: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, object]:
        if not self.waiting:
            raise BlockingIOError
        payload, index = self.waiting.pop(0)
        return payload[:limit], [pktinfo(index)], 0, None


@pytest.fixture
def udp(monkeypatch: pytest.MonkeyPatch) -> type[FakeUdp]:
    kind = type("Udp", (FakeUdp,), {"made": []})
    monkeypatch.setattr(multicast.socket, "socket", kind)
    monkeypatch.setattr(multicast.socket, "if_nametoindex", lambda _name: 5)
    monkeypatch.setattr(multicast, "link_local_flags", lambda _name: [0x80])
    return kind


def test_a_port_is_bound_to_its_interface_and_never_leaves_the_link(udp: type[FakeUdp]) -> None:
    port = MulticastPort("p0", b"nonce-01")
    (made,) = udp.made
    assert made.bound == ("ff02::1", 18613, 0, 5)
    assert made.options[socket.IPV6_MULTICAST_IF] == 5
    assert made.options[socket.IPV6_MULTICAST_HOPS] == 1
    assert made.options[socket.IPV6_MULTICAST_LOOP] == 0
    assert made.options[-socket.SO_REUSEADDR] == 1
    assert (port.method, port.lost()) == ("multicast", 0)


def test_datagrams_go_to_all_nodes_of_that_link_and_only_those_taken_count(udp: type[FakeUdp]) -> None:
    port = MulticastPort("p0", b"nonce-01")
    assert [port.send(b"hello", 3), port.send(b"hello", 3)] == [3, 1]
    assert udp.made[0].sent == [(b"hello", ("ff02::1", 18613, 0, 5))] * 4


def test_what_arrived_on_another_interface_is_passed_over(udp: type[FakeUdp]) -> None:
    port = MulticastPort("p0", b"nonce-01")
    udp.made[0].waiting = [(b"mine", 5), (b"another port's", 6), (b"late", 5)]
    assert list(port.take(2)) == [(b"mine", False)]
    assert list(port.take(9)) == [(b"late", False)]
    assert list(port.take(9)) == []


def test_a_port_number_in_use_leaves_no_socket_open(udp: type[FakeUdp], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp, "bind", lambda *_words: (_ for _ in ()).throw(OSError(98, "Address already in use")))
    with pytest.raises(OSError, match="already in use"):
        MulticastPort("p0", b"nonce-01")
    assert udp.made[0].closed
