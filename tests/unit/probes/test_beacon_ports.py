"""Raw ports: what is opened in which order, what is sent, and what is read, on sockets that are lists.

The kernel's side is shown in the lab (tests/lab/test_cables*.py); here one real socket says that loopback is none.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from fabricdoc.probes import beacon_filters, beacon_ports
from fabricdoc.probes.beacon_ports import BROADCAST, ETHERTYPE, NEAREST_BRIDGE, PACKET_OUTGOING, RawPort

pytestmark = pytest.mark.unit

NONCE = b"nonce-01"
MAC = bytes.fromhex("020000000001")
TYPE = ETHERTYPE.to_bytes(2, "big")
HOST, BROADCASTED, MULTICASTED = 0, 1, 2  # linux/if_packet.h


class FakeSocket:
    """Notes what is asked of it; frames wait in `waiting` with the kernel's packet type."""

    made: list[FakeSocket]
    hardware = 1
    address = MAC
    full_after = 99
    refuses: str = ""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        assert (family, kind, protocol) == (socket.AF_PACKET, socket.SOCK_RAW, 0), "protocol 0 hears nothing yet"
        self.asked: list[tuple[Any, ...]] = []
        self.sent: list[bytes] = []
        self.waiting: list[tuple[bytes, int]] = []
        self.counts = [(0, 0)]
        self.closed = False
        self.made.append(self)

    def __enter__(self) -> FakeSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        self._check("setsockopt" if level == socket.SOL_SOCKET else "membership")
        self.asked.append(("option", level, option, value))

    def getsockopt(self, level: int, option: int, length: int) -> bytes:
        assert (level, option, length) == (263, 6, 8)
        return struct.pack("II", *(self.counts.pop(0) if self.counts else (0, 0)))

    def setblocking(self, flag: bool) -> None:
        self.asked.append(("blocking", flag))

    def bind(self, address: tuple[str, int]) -> None:
        self._check("bind")
        self.asked.append(("bind", address))

    def getsockname(self) -> tuple[Any, ...]:
        return ("p0", ETHERTYPE, HOST, self.hardware, self.address)

    def fileno(self) -> int:
        return 7

    def send(self, frame: bytes) -> int:
        if len(self.sent) >= self.full_after:
            raise OSError(105, "No buffer space available")
        self.sent.append(frame)
        return len(frame)

    def recvfrom(self, limit: int) -> tuple[bytes, tuple[Any, ...]]:
        if not self.waiting:
            raise BlockingIOError
        frame, kind = self.waiting.pop(0)
        return frame[:limit], ("p0", ETHERTYPE, kind, 1, b"\2" * 6)

    def close(self) -> None:
        self.closed = True

    def _check(self, what: str) -> None:
        if self.refuses == what:
            raise OSError(1, "Operation not permitted")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeSocket]:
    kind = type("Fake", (FakeSocket,), {"made": []})
    monkeypatch.setattr(beacon_ports.socket, "socket", kind)
    monkeypatch.setattr(beacon_ports.socket, "if_nametoindex", lambda _name: 3)
    return kind


def test_filters_are_in_place_before_anything_can_arrive(fake: type[FakeSocket]) -> None:
    port = RawPort("p0", NONCE)
    assert (port.netdev, port.mac, port.method, port.fileno()) == ("p0", "02:00:00:00:00:01", "beacon", 7)
    for one in fake.made:
        steps = [step[0] if step[0] != "option" else step[2] for step in one.asked]
        assert steps.index(beacon_filters.SO_ATTACH_FILTER) < steps.index("bind")
        assert ("bind", ("p0", ETHERTYPE)) in one.asked
        assert ("blocking", False) in one.asked


def test_what_is_only_counted_gets_the_least_room(fake: type[FakeSocket]) -> None:
    RawPort("p0", NONCE)
    ours, others = fake.made
    room = ("option", socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    assert room in others.asked
    assert room not in ours.asked


def test_the_nic_is_asked_for_frames_to_the_nearest_bridge_and_may_refuse(fake: type[FakeSocket]) -> None:
    RawPort("p0", NONCE)
    assert ("option", 263, 1, struct.pack("iHH8s", 3, 0, 6, NEAREST_BRIDGE)) in fake.made[0].asked
    fake.refuses = "membership"
    RawPort("p0", NONCE)


@pytest.mark.parametrize(("hardware", "address"), [(32, b"\0" * 20), (772, MAC), (1, b"\0" * 20)])
def test_what_is_not_ethernet_is_refused_and_closed(fake: type[FakeSocket], hardware: int, address: bytes) -> None:
    fake.hardware, fake.address = hardware, address
    with pytest.raises(OSError, match=f"not Ethernet .hardware type {hardware}."):
        RawPort("ib0", NONCE)
    assert [one.closed for one in fake.made] == [True, True]


@pytest.mark.parametrize("what", ["bind", "setsockopt"])
def test_a_refusal_leaves_no_socket_open(fake: type[FakeSocket], what: str) -> None:
    fake.refuses = what
    with pytest.raises(OSError, match="not permitted"):
        RawPort("p0", NONCE)
    assert all(one.closed for one in fake.made)


def test_broadcasts_go_out_with_the_ports_own_mac_and_one_frame_to_the_nearest_bridge(fake: type[FakeSocket]) -> None:
    port = RawPort("p0", NONCE)
    assert port.send(b"payload", 3) == 3
    assert fake.made[0].sent == [BROADCAST + MAC + TYPE + b"payload"] * 3 + [NEAREST_BRIDGE + MAC + TYPE + b"payload"]
    assert fake.made[1].sent == []


def test_frames_the_kernel_does_not_take_are_not_counted(fake: type[FakeSocket]) -> None:
    port = RawPort("p0", NONCE)
    fake.full_after = 2
    assert port.send(b"payload", 5) == 2


def test_payloads_are_read_in_bites_and_own_frames_passed_over(fake: type[FakeSocket]) -> None:
    port = RawPort("p0", NONCE)
    fake.made[0].waiting = [
        (BROADCAST + MAC + TYPE + b"one", BROADCASTED),
        (BROADCAST + MAC + TYPE + b"own", PACKET_OUTGOING),
        (NEAREST_BRIDGE + MAC + TYPE + b"near", MULTICASTED),
        (BROADCAST + MAC + TYPE + b"x" * 4000, BROADCASTED),
    ]
    assert list(port.take(3)) == [(b"one", False), (b"near", True)]
    assert [len(payload) for payload, _ in port.take(9)] == [beacon_ports.MAX_FRAME - 14]
    assert list(port.take(9)) == []


def test_the_kernels_counts_add_up_although_it_forgets_them_when_read(fake: type[FakeSocket]) -> None:
    port = RawPort("p0", NONCE)
    ours, others = fake.made
    others.counts, ours.counts = [(100, 90), (5, 0)], [(6, 2), (0, 0), (9, 3)]
    assert [port.strays() for _ in range(3)] == [100, 105, 105]
    assert [port.lost() for _ in range(3)] == [2, 2, 5]


def test_closing_closes_both(fake: type[FakeSocket]) -> None:
    RawPort("p0", NONCE).close()
    assert [one.closed for one in fake.made] == [True, True]


def test_loopback_is_no_ethernet_for_the_kernel_either() -> None:
    try:
        RawPort("lo", NONCE)
        said = "opened"
    except OSError as error:
        said = str(error.strerror)
    assert said in ("not Ethernet (hardware type 772)", "Operation not permitted")
