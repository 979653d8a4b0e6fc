"""LLDP frames: what lldpd, switches and systemd send is read; what is cut, empty or hostile is nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.fabric import LldpNeighbour
from fabricdoc.probes.lldp_frames import MAX_TEXT, neighbour, text, tlvs
from tests.lldp import lldpdu, tlv

pytestmark = pytest.mark.unit

MAC, OTHER = bytes.fromhex("0a0b0c032210"), bytes.fromhex("0a0b0c032211")
SPARK = lldpdu(chassis=b"\x04" + MAC, port=b"\x03" + OTHER, system=b"spark-b", description=b"enp1s0f1np1")


def test_a_host_as_lldpd_sends_it() -> None:
    assert neighbour(SPARK) == {
        "chassis": "0a:0b:0c:03:22:10",
        "port": "0a:0b:0c:03:22:11",
        "system": "spark-b",
        "port_description": "enp1s0f1np1",
        "bridge": False,
    }


def test_a_switch_names_its_port_and_bridges() -> None:
    said = neighbour(lldpdu(chassis=b"\x04" + MAC, port=b"\x05Ethernet1/7", enabled=0x0014, system=b"leaf1"))
    assert said is not None
    assert (said["port"], said["system"], said["bridge"]) == ("Ethernet1/7", "leaf1", True)


def test_a_machine_that_could_bridge_and_does_not_is_no_switch() -> None:
    said = neighbour(lldpdu(chassis=b"\x04" + MAC, port=b"\x05e0", able=0x0004, enabled=0x0080))
    assert said is not None
    assert said["bridge"] is False


@pytest.mark.parametrize(
    ("chassis", "wanted"),
    [
        (b"\x04" + MAC, "0a:0b:0c:03:22:10"),
        (b"\x05\x01" + bytes([10, 0, 0, 1]), "10.0.0.1"),
        (b"\x05\x02" + bytes(15) + b"\x01", "::1"),
        (b"\x05\x01\x0a", "010a"),
        (b"\x05\x07xyz", "0778797a"),
        (b"\x07b2f81c0d5e6a4b7e9c0d1e2f3a4b5c6d", "b2f81c0d5e6a4b7e9c0d1e2f3a4b5c6d"),
        (b"\x04short", "short"),
        (b"\x07caf\xc3\xa9\x1b[31m\x00\xff", "caf\u00e9[31m\ufffd"),
    ],
)
def test_every_kind_of_chassis_id(chassis: bytes, wanted: str) -> None:
    said = neighbour(lldpdu(chassis=chassis, port=b"\x05p0"))
    assert said is not None
    assert said["chassis"] == wanted


def test_port_and_chassis_number_their_kinds_differently() -> None:
    """3 is a MAC for a port only, 4 for a chassis only (tables 8-2 and 8-3)."""
    said = neighbour(lldpdu(chassis=b"\x03abcdef", port=b"\x04\x01" + bytes([10, 0, 0, 9])))
    assert said is not None
    assert (said["chassis"], said["port"]) == ("abcdef", "10.0.0.9")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00",
        bytes(46),
        lldpdu(chassis=b"\x04", port=b"\x05p0"),
        lldpdu(chassis=b"\x04" + MAC, port=b"\x05"),
        lldpdu(chassis=b"\x04" + MAC, port=b""),
        lldpdu(chassis=b"\x07\x00\x01", port=b"\x05p0"),
        lldpdu(chassis=b"\x04" + MAC, port=b"\x05p0", ttl=0),
        tlv(2, b"\x05p0") + tlv(1, b"\x04" + MAC) + tlv(3, b"\x00\x78") + b"\0\0",
        tlv(1, b"\x04" + MAC) + tlv(2, b"\x05p0") + tlv(3, b"\x78") + b"\0\0",
        tlv(1, b"\x04" + MAC) + tlv(2, b"\x05p0") + b"\0\0",
        SPARK[:20],
        SPARK[:-2] + b"\x08\x0f",
    ],
)
def test_what_is_no_whole_lldpdu_is_nothing(payload: bytes) -> None:
    assert neighbour(payload) is None


def test_padding_and_what_follows_the_end_do_not_count() -> None:
    assert neighbour(SPARK + tlv(5, b"evil") + b"\xff" * 9) == neighbour(SPARK)


def test_a_second_name_does_not_win() -> None:
    body = SPARK[:-2]
    assert neighbour(body + tlv(5, b"other") + b"\0\0") == neighbour(SPARK)


def test_texts_are_bounded() -> None:
    said = neighbour(lldpdu(chassis=b"\x07" + b"c" * 400, port=b"\x05" + b"p" * 255, system=b"s" * 511))
    assert said is not None
    assert [len(said[key]) for key in ("chassis", "port", "system")] == [MAX_TEXT] * 3


def test_endless_empty_tlvs_end() -> None:
    assert len(list(tlvs(tlv(127, b"") * 5000))) == 128


@pytest.mark.long
@given(st.binary(max_size=1600))
def test_any_bytes_give_a_neighbour_or_nothing(payload: bytes) -> None:
    for whole in (payload, SPARK[: len(payload)] + payload):
        said = neighbour(whole)
        if said is not None:
            told = LldpNeighbour(netdev="p0", **said)
            assert told.chassis
            assert told.port
            assert all(len(one) <= MAX_TEXT and one.isprintable() for one in (told.chassis, told.port, told.system))


@given(st.binary(max_size=300))
def test_any_text_is_clean(value: bytes) -> None:
    assert text(value).isprintable()
    text(value).encode()
