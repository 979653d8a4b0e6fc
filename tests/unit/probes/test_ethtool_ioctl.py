"""The SIOCETHTOOL ioctl: the kernel's handshake about mask lengths, its structures, and this kernel's own answers."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes import ethtool_ioctl

pytestmark = pytest.mark.unit


def answering(monkeypatch: pytest.MonkeyPatch, answer: Callable[[bytes], bytes]) -> list[tuple[str, int]]:
    """The kernel writes `answer(command)` over each command it is given; the names and sizes it was given."""
    asked: list[tuple[str, int]] = []

    def ioctl(_wire: Any, request: int, packed: bytes) -> int:
        assert request == 0x8946
        name, address = struct.unpack_from("16sP", packed)
        command = ctypes.string_at(address, 4)
        size = 48 + 4 * 3 * 4 if command == struct.pack("=I", 0x4C) and len(asked) else 16
        asked.append((name.rstrip(b"\0").decode(), size))
        written = answer(ctypes.string_at(address, size))
        ctypes.memmove(address, written, len(written))
        return 0

    monkeypatch.setattr(ethtool_ioctl.fcntl, "ioctl", ioctl)
    return asked


def settings(words: int, speed: int = 0, duplex: int = 0, autoneg: int = 0) -> bytes:
    """struct ethtool_link_settings of linux/ethtool.h without its masks."""
    return struct.pack("=IIBBBBBBBbBBBB7I", 0x4C, speed, duplex, 3, 0, autoneg, 0, 0, 0, words, 0, 0, 0, 0, *[0] * 7)


def test_the_kernel_is_asked_again_with_room_for_its_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([settings(-4), settings(4, 200000, 1, 1)])
    asked = answering(monkeypatch, lambda _command: next(answers))
    assert ethtool_ioctl.link_settings("enp1s0f0np0") == (200000, 1, 1)
    assert [name for name, _size in asked] == ["enp1s0f0np0", "enp1s0f0np0"]


@pytest.mark.parametrize("words", [0, 4])
def test_a_kernel_that_does_not_shake_hands_is_refused(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    answering(monkeypatch, lambda _command: settings(words))
    with pytest.raises(OSError, match="words of link modes"):
        ethtool_ioctl.link_settings("enp1s0f0np0")


def test_fec_and_pause_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, lambda command: command[:4] + struct.pack("=III", 8, 2, 0))
    assert ethtool_ioctl.active_fec("enp1s0f0np0") == 8
    assert ethtool_ioctl.pause("enp1s0f0np0") == (2, 0)


@pytest.mark.parametrize("name", ["", "a" * 16, "ü" * 8])
def test_what_is_no_interface_name_never_reaches_the_kernel(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    asked = answering(monkeypatch, lambda command: command)
    with pytest.raises(ValueError, match="not an interface name"):
        ethtool_ioctl.pause(name)
    assert asked == []


def test_this_kernel_refuses_what_loopback_has_not() -> None:
    for ask in (ethtool_ioctl.link_settings, ethtool_ioctl.active_fec, ethtool_ioctl.pause):
        with pytest.raises(OSError, match=r"not supported|not permitted"):
            ask("lo")
        with pytest.raises(OSError, match="No such device"):
            ask("no-such-netdev")


def test_the_commands_are_those_of_this_machines_header() -> None:
    header = Path("/usr/include/linux/ethtool.h")
    if not header.exists():
        pytest.skip("linux-libc-dev is not installed")
    found = dict(re.findall(r"#define ETHTOOL_(\w+)\s+(0x[0-9a-f]{8})", header.read_text()))
    for name in ("GLINKSETTINGS", "GPAUSEPARAM", "GFECPARAM"):
        assert int(found[name], 16) == getattr(ethtool_ioctl, name), name
    assert ethtool_ioctl.SETTINGS.size == 48
