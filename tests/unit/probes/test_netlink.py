"""The netlink reader: hand-made packets, hostile lengths, interrupted dumps, and this kernel's own answer."""

from __future__ import annotations

import socket
import struct
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import netlink
from tests.netlink_messages import attribute, message, nest

pytestmark = pytest.mark.unit

LO = socket.if_nametoindex("lo")
PAIRS = st.lists(st.tuples(st.integers(0, 0x3FFF), st.binary(max_size=40)), max_size=8)


@given(PAIRS)
def test_attributes_come_back_as_written(pairs: list[tuple[int, bytes]]) -> None:
    assert netlink.attributes(b"head" + nest(pairs), 4) == pairs


@given(st.lists(st.tuples(st.integers(16, 60), st.binary(max_size=40)), max_size=6))
def test_messages_come_back_as_written(bodies: list[tuple[int, bytes]]) -> None:
    packet = b"".join(message(kind, body, sequence=7) for kind, body in bodies)
    assert list(netlink.messages(packet)) == [netlink.Message(kind, 2, 7, body) for kind, body in bodies]


@given(st.binary(max_size=120))
def test_any_bytes_are_parsed_or_refused_never_worse(data: bytes) -> None:
    for parse in (netlink.attributes, lambda packet: list(netlink.messages(packet))):
        try:
            parse(data)
        except ValueError:
            continue


@pytest.mark.parametrize("length", [0, 3, 100])
def test_a_length_that_leads_nowhere_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="attribute of length"):
        netlink.attributes(struct.pack("=HH", length, 1) + b"abcd")
    with pytest.raises(ValueError, match="netlink message of length"):
        list(netlink.messages(struct.pack("=IHHII", length, 16, 0, 1, 0)))


def test_the_flag_bits_of_a_kind_are_dropped() -> None:
    assert netlink.attributes(attribute(0x8000 | 12, b"ab")) == [(12, b"ab")]


def test_a_dump_ends_at_done_and_skips_other_answers() -> None:
    packets = [message(16, b"old!", sequence=1) + message(16, b"one.", sequence=2), message(16, b"two.", sequence=2)]
    done = message(netlink.NLMSG_DONE, struct.pack("=i", 0), sequence=2)
    found: list[bytes] = []
    assert netlink.collect(iter([*packets, done]), 2, found) is False
    assert found == [b"one.", b"two."]


@pytest.mark.parametrize("marked", [0, 1, 2])
def test_an_interrupted_dump_is_told_wherever_the_mark_is(marked: int) -> None:
    flags = [netlink.NLM_F_DUMP_INTR if place == marked else 2 for place in range(3)]
    packets = [message(16, b"one.", flags=flags[0]), message(16, b"two.", flags=flags[1])]
    done = message(netlink.NLMSG_DONE, b"", flags=flags[2])
    assert netlink.collect(iter([*packets, done]), 1, []) is True


@pytest.mark.parametrize("kind", [netlink.NLMSG_ERROR, netlink.NLMSG_DONE])
def test_a_refusal_is_an_oserror_with_the_kernels_number(kind: int) -> None:
    with pytest.raises(PermissionError) as refused:
        netlink.collect(iter([message(kind, struct.pack("=i", -1))]), 1, [])
    assert refused.value.errno == 1


def test_an_endless_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink, "MAX_MESSAGES", 3)
    with pytest.raises(OSError, match="more than 3 entries"):
        netlink.collect(iter([message(16, b"x")] * 4), 1, [])


def test_a_dump_is_read_again_while_the_table_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [([b"old"], True), ([b"half"], True), ([b"new"], False)]
    asked: list[int] = []

    def collect(_packets: object, sequence: int, bodies: list[bytes]) -> bool:
        asked.append(sequence)
        bodies += answers[sequence - 1][0]
        return answers[sequence - 1][1]

    monkeypatch.setattr(netlink, "collect", collect)
    assert netlink.dump(netlink.RTM_GETLINK, bytes(16)) == [b"new"]
    assert asked == [1, 2, 3]


def test_a_table_that_never_holds_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink, "collect", lambda _packets, _sequence, _bodies: True)
    with pytest.raises(OSError, match="kept changing"):
        netlink.dump(netlink.RTM_GETLINK, bytes(16))


def test_what_came_before_a_refusal_is_kept() -> None:
    """A driver that fails in the middle ends an ethtool dump with its own error (net/ethtool/netlink.c)."""
    found: list[bytes] = []
    failed = message(netlink.NLMSG_DONE, struct.pack("=i", -19))
    with pytest.raises(OSError, match="No such device"):
        netlink.collect(iter([message(16, b"one."), failed]), 1, found)
    assert found == [b"one."]


def test_one_question_has_one_answer() -> None:
    (body,) = netlink.ask(netlink.RTM_GETLINK, struct.pack("=BxHiII", 0, 0, LO, 0, 0))
    assert dict(netlink.attributes(body, 16))[3] == b"lo\0"
    with pytest.raises(OSError, match="No such device"):
        netlink.ask(netlink.RTM_GETLINK, struct.pack("=BxHiII", 0, 0, 2_000_000_000, 0, 0))


def test_the_generic_protocol_is_another_one() -> None:
    control = 16
    found = netlink.dump(control, struct.pack("=BBxx", 3, 1), netlink.NETLINK_GENERIC)
    names = [dict(netlink.attributes(body, 4))[2] for body in found]
    assert b"nlctrl\0" in names


@given(PAIRS)
def test_attributes_for_a_request_are_laid_out_as_the_kernels(pairs: list[tuple[int, bytes]]) -> None:
    assert b"".join(netlink.attribute(kind, value) for kind, value in pairs) == nest(pairs)


def test_an_interface_is_asked_for_its_name_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = netlink.InterfaceNames()
    assert (names[LO], names[2_000_000_000], names[-1]) == ("lo", "", "")
    monkeypatch.setattr(netlink.socket, "if_indextoname", lambda _index: pytest.fail("asked again"))
    assert (names[LO], names[2_000_000_000]) == ("lo", "")


class Wire:
    """A netlink socket that answers with these packets and remembers what was sent."""

    sent: ClassVar[list[tuple[int, bytes]]] = []

    def __init__(self, _family: int, _type: int, protocol: int) -> None:
        self.protocol = protocol

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def settimeout(self, seconds: float) -> None:
        assert 0 < seconds <= 5

    def bind(self, address: tuple[int, int]) -> None:
        assert address == (0, 0)

    def send(self, data: bytes) -> None:
        self.sent.append((self.protocol, data))

    def recvmsg(self, size: int) -> tuple[bytes, list[object], int, object]:
        if self.protocol == 98:
            raise TimeoutError("timed out")
        flags = socket.MSG_TRUNC if self.protocol == 99 else 0
        return message(netlink.NLMSG_ERROR, struct.pack("=i", 0))[:size], [], flags, None


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> type[Wire]:
    Wire.sent.clear()
    monkeypatch.setattr(netlink.socket, "socket", Wire)
    return Wire


def test_requests_only_read(wire: type[Wire]) -> None:
    assert netlink.dump(netlink.RTM_GETRULE, b"body") == []
    assert netlink.ask(netlink.RTM_GETDCB, b"more", netlink.NETLINK_GENERIC) == []
    asked = [(protocol, struct.unpack_from("=IHHII", data), data[16:]) for protocol, data in wire.sent]
    assert asked == [(0, (20, 34, 0x301, 1, 0), b"body"), (16, (20, 78, 0x5, 1, 0), b"more")]


def test_an_answer_larger_than_the_buffer_is_refused_not_cut(wire: type[Wire]) -> None:
    with pytest.raises(OSError, match="larger than the buffer"):
        netlink.ask(netlink.RTM_GETDCB, b"", 99)


def test_silence_is_told_with_its_limit(wire: type[Wire]) -> None:
    with pytest.raises(TimeoutError, match="no answer within 2 s"):
        netlink.ask(netlink.RTM_GETDCB, b"", 98)


def test_this_kernel_answers_a_dump() -> None:
    names = [dict(netlink.attributes(body, 16))[3] for body in netlink.dump(netlink.RTM_GETLINK, bytes(16))]
    assert b"lo\0" in names


def test_this_kernels_refusal_of_an_unknown_request() -> None:
    with pytest.raises(OSError, match="not supported"):
        netlink.dump(0x7FF0, bytes(16))


def test_simple_types() -> None:
    assert netlink.u32(struct.pack("=I", 9000)) == 9000
    assert netlink.u16(struct.pack("=H", 4094)) == 4094
    assert netlink.u8(b"\7\0\0\0") == 7
    with pytest.raises(IndexError):
        netlink.u8(b"")
    assert netlink.string(b"enp1s0f0np0\0junk") == "enp1s0f0np0"
    assert netlink.ip_text(bytes([10, 77, 0, 1])) == "10.77.0.1"
    assert netlink.ip_text(bytes(15) + b"\1") == "::1"
    with pytest.raises(ValueError, match="IP address"):
        netlink.ip_text(b"abc")
    with pytest.raises(struct.error):
        netlink.u32(b"ab")
