"""The small words every format shares: GUIDs, MACs, PCI addresses, states, numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats import FORMATS
from fabricdoc.dumps.formats.base import Told, guid, known, mac, pci, phys_state, whole

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "text", ["0a0b:0c03:00d0:1110", "0x0a0b0c0300d01110", "0A0B0C0300D01110", " 0a0b:0c03:00d0:1110 "]
)
def test_a_guid_in_every_spelling(text: str) -> None:
    assert guid(text) == "0a0b:0c03:00d0:1110"


@pytest.mark.parametrize("text", ["", "0a0b:0c03:00d0", "0a0b:0c03:00d0:1110:1111", "x"])
def test_no_guid(text: str) -> None:
    assert guid(text) is None


def test_macs() -> None:
    assert mac("0A:0b:0c:03:11:10") == "0a:0b:0c:03:11:10"
    assert mac("0a:0b:0c:03:11") is None
    assert mac("none") is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("01:00.0", "0000:01:00.0"),
        ("0002:01:00.1", "0002:01:00.1"),
        ("0000000F:01:00.0", "000f:01:00.0"),
        ("00010000:01:00.0", "00010000:01:00.0"),
        ("1:0.0", None),
        ("virtio0", None),
    ],
)
def test_pci(text: str, address: str | None) -> None:
    assert pci(text) == address


def test_physical_states() -> None:
    assert (phys_state("LINK_UP"), phys_state("DISABLED"), phys_state("Odd")) == ("LinkUp", "Disabled", "Odd")


@pytest.mark.parametrize(
    ("text", "number"), [("4096 (5)", 4096), ("-1", -1), ("12ab", None), ("", None), ("9" * 30, None)]
)
def test_whole(text: str, number: int | None) -> None:
    assert whole(text) == number


def test_known() -> None:
    assert known(("host", "os"), "", 3) == known(("host", "os"), None, 3) == []
    assert known(("host", "os"), False, 3, weak=True) == [Told(("host", "os"), False, 3, weak=True)]


def test_every_format_has_a_name_of_its_own_and_patterns_without_named_groups_that_clash() -> None:
    assert len({one.tool for one in FORMATS}) == len(FORMATS)
    for one in FORMATS:
        assert re.compile(one.begins).groups == 0, one.tool
        assert set(re.compile(one.command).groupindex) <= {"arg"}, one.tool


@given(st.text(max_size=30))
def test_any_text(text: str) -> None:
    for read in (guid, mac, pci, phys_state, whole):
        read(text)
