"""The LLDP probe: what it hears and from whom, how much it keeps, and that it needs a right and never sends."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes import lldp
from fabricdoc.probes.wire import Wire
from tests.lldp import frame, lldpdu

pytestmark = pytest.mark.unit

MAC = bytes.fromhex("0a0b0c032210")


class Pretend:
    """A socket with frames waiting: (frame, packet type)."""

    def __init__(self, *frames: tuple[bytes, int]) -> None:
        self.frames = list(frames)

    def recvfrom(self, size: int) -> tuple[bytes, tuple[Any, ...]]:
        if not self.frames:
            raise BlockingIOError
        data, kind = self.frames.pop(0)
        return data[:size], ("p0", lldp.ETHERTYPE, kind, 1, MAC)


def port(*frames: tuple[bytes, int]) -> lldp.Port:
    made = lldp.Port.__new__(lldp.Port)
    made.netdev, made.heard, made.socket = "p0", {}, Pretend(*frames)  # type: ignore[assignment]
    for _ in range(len(frames) + 1):
        made.take()
    return made


def beta(port: bytes = b"\x05p1", **how: Any) -> bytes:
    return frame(MAC, lldpdu(chassis=b"\x04" + MAC, port=port, system=b"beta", **how))


def test_a_neighbour_is_told_with_the_port_that_heard_it() -> None:
    answer = lldp.answer([port((beta(), 2), (beta(), 2))], {})
    assert answer["lldp"] == [
        {
            "netdev": "p0",
            "chassis": "0a:0b:0c:03:22:10",
            "port": "p1",
            "system": "beta",
            "port_description": "",
            "bridge": False,
        }
    ]


def test_our_own_frames_and_rubbish_are_passed_over() -> None:
    assert port((beta(), lldp.PACKET_OUTGOING), (b"\xff" * 60, 2), (b"", 2)).heard == {}


def test_the_last_word_of_a_neighbour_counts() -> None:
    told = port((beta(), 2), (beta(description=b"new"), 2)).heard
    assert [one["port_description"] for one in told.values()] == ["new"]


def test_a_flood_of_invented_neighbours_is_bounded() -> None:
    flood = [(beta(port=b"\x05p%d" % number), 2) for number in range(500)]
    told = port(*flood, (beta(port=b"\x05p1", description=b"again"), 2)).heard
    assert len(told) == lldp.MAX_NEIGHBOURS
    assert told["0a:0b:0c:03:22:10", "p1"]["port_description"] == "again"


def test_without_the_right_the_reason_is_told() -> None:
    answer = lldp.answer([], {"p0": "Operation not permitted (errno 1)"})
    assert answer["lldp"] == {"unknown": "listening for LLDP needs CAP_NET_RAW: Operation not permitted (errno 1)"}
    assert lldp.answer([], {})["lldp"] == {"unknown": "no port to listen on"}


def test_a_port_that_is_not_there_is_refused() -> None:
    ports, refused = lldp.open_ports(["no-such-port0", "no-such-port0"])
    assert ports == []
    assert "errno" in refused["no-such-port0"]


@pytest.fixture
def wires() -> Iterator[tuple[Wire, int, int]]:
    """A wire, the end to write requests to, and the end to read answers from."""
    asks, tells = os.pipe()
    reads, writes = os.pipe()
    wire = Wire("n", asks, writes)
    yield wire, tells, reads
    for descriptor in (asks, tells, reads):
        os.close(descriptor)


def said(reads: int) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(os.read(reads, 1 << 16).decode().removeprefix("\x1en "))
    return message


def test_another_request_is_refused(wires: tuple[Wire, int, int]) -> None:
    wire, tells, reads = wires
    os.write(tells, b'{"do": "send"}\n')
    assert lldp.main(wire) == 2
    assert said(reads)["event"] == "error"


def test_nothing_to_listen_on_is_answered_at_once(wires: tuple[Wire, int, int]) -> None:
    wire, tells, reads = wires
    os.write(tells, b'{"do": "hear", "ports": ["no-such-port0"], "seconds": 30}\n')
    begun = time.monotonic()
    assert lldp.main(wire) == 0
    assert time.monotonic() - begun < 5
    assert "unknown" in said(reads)["lldp"]


@pytest.mark.long
def test_it_hears_until_the_time_is_over_and_not_when_nobody_waits(wires: tuple[Wire, int, int]) -> None:
    wire, _tells, _reads = wires
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening = lldp.Port.__new__(lldp.Port)
    listening.netdev, listening.heard = "p0", {}
    listening.socket = Wrapped(ours)  # type: ignore[assignment]
    threading.Timer(0.05, theirs.send, [beta()]).start()
    lldp.listen(wire, [listening], 0.4)
    assert [one["system"] for one in listening.heard.values()] == ["beta"]
    wire.closed = True
    begun = time.monotonic()
    lldp.listen(wire, [listening], 30)
    assert time.monotonic() - begun < 5
    ours.close()
    theirs.close()


class Wrapped:
    """A datagram socket that tells the address a raw one would."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        inner.setblocking(False)

    def fileno(self) -> int:
        return self.inner.fileno()

    def recvfrom(self, size: int) -> tuple[bytes, tuple[Any, ...]]:
        return self.inner.recv(size), ("p0", lldp.ETHERTYPE, 2, 1, MAC)


def test_it_has_no_word_that_sends() -> None:
    assert ".send" not in Path(lldp.__file__).read_text()
