"""Devlink's ports: messages by linux/devlink.h, and what this kernel says."""

from __future__ import annotations

import contextlib
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import devlink
from fabricdoc.probes.facts import READ_ERRORS
from tests.netlink_messages import nest

pytestmark = pytest.mark.unit

HEADER = Path("/usr/include/linux/devlink.h")


def u16(number: int) -> bytes:
    return struct.pack("=H", number)


def u32(number: int) -> bytes:
    return struct.pack("=I", number)


def message(index: int, *more: tuple[int, bytes]) -> bytes:
    return nest([(1, b"pci\0"), (2, b"0000:01:00.0\0"), (3, u32(0)), (6, u32(index)), (7, b"enp1s0f0np0\0"), *more])


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the dump answers with; filled by the test."""
    bodies: list[bytes] = []
    monkeypatch.setattr(devlink.genl, "family", lambda name: {"devlink": 21}[name])

    def dump(kind: int, command: int, request: bytes, found: list[bytes]) -> None:
        assert (kind, command, request) == (21, 5, b"")
        found += bodies

    monkeypatch.setattr(devlink.genl, "dump_command", dump)
    return bodies


def test_a_physical_port_has_a_number_and_others_a_flavour(answers: list[bytes]) -> None:
    answers += [
        message(4, (77, u16(0)), (78, u32(1))),
        message(5, (77, u16(4))),
        message(6, (77, u16(7))),
        message(7, (77, u16(99))),
        nest([(1, b"pci\0"), (77, u16(0)), (78, u32(0))]),
    ]
    assert devlink.read_ports() == {
        "4": {"port_flavour": "physical", "port_number": 1},
        "5": {"port_flavour": "pcivf"},
        "6": {"port_flavour": "pcisf"},
        "7": {"port_flavour": "99"},
    }


def test_no_port_no_fact(answers: list[bytes]) -> None:
    assert devlink.read_ports() == {}


@given(st.binary(max_size=80))
def test_any_answer_is_facts_or_an_error_that_a_fact_can_hold(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(devlink.genl, "family", lambda _name: 21)
        patched.setattr(devlink.genl, "dump_command", lambda _kind, _command, _request, found: found.append(data))
        with contextlib.suppress(READ_ERRORS):
            assert all(set(facts) <= set(devlink.FIELDS) for facts in devlink.read_ports().values())


def test_this_kernel_answers_or_says_why_not() -> None:
    try:
        assert isinstance(devlink.read_ports(), dict)
    except OSError as error:
        assert "devlink" in str(error)


@pytest.mark.skipif(not HEADER.exists(), reason="no kernel headers on this machine")
def test_the_numbers_are_those_of_the_header() -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)

    def places(enum: str) -> dict[str, int]:
        words = re.search(rf"enum {enum} {{(.*?)}};", text, re.DOTALL)
        assert words
        names = [word.strip() for word in words[1].split(",") if word.strip() and "=" not in word]
        return {name: place for place, name in enumerate(names)}

    attributes, commands = places("devlink_attr"), places("devlink_command")
    assert commands["DEVLINK_CMD_PORT_GET"] == devlink.PORT_GET
    assert attributes["DEVLINK_ATTR_PORT_NETDEV_IFINDEX"] == devlink.NETDEV_IFINDEX
    assert attributes["DEVLINK_ATTR_PORT_FLAVOUR"] == devlink.FLAVOUR
    assert attributes["DEVLINK_ATTR_PORT_NUMBER"] == devlink.NUMBER
    flavours = [name.removeprefix("DEVLINK_PORT_FLAVOUR_") for name in places("devlink_port_flavour")]
    assert [name.replace("_", "").lower() for name in flavours[: len(devlink.FLAVOURS)]] == list(devlink.FLAVOURS)
