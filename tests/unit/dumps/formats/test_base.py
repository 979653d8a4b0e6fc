"""The small words every format shares: GUIDs, MACs, PCI addresses, states, numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats import FORMATS, Format, Line
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


GUID_TEXT = st.integers(0, (1 << 64) - 1).map(lambda number: f"{number:016x}")


@given(GUID_TEXT, st.sampled_from(["0x{}", "{}", "{:}"]), st.booleans())
def test_one_guid_in_all_its_spellings(digits: str, spelling: str, upper: bool) -> None:
    wanted = ":".join(digits[at : at + 4] for at in range(0, 16, 4))
    text = spelling.format(digits.upper() if upper else digits)
    assert guid(text) == guid(wanted) == guid(wanted.upper()) == wanted


@given(st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))
def test_a_pci_address_with_and_without_nvmls_digits(domain: int, bus: int, slot: int, function: int) -> None:
    wanted = f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"
    assert pci(wanted) == pci(wanted.upper()) == pci(f"0000{wanted}") == wanted
    assert pci(wanted[5:]) == f"0000:{wanted[5:]}"
    assert pci(f"{wanted}8") is None


@pytest.mark.parametrize(
    ("text", "number"), [("9" * 18, 10**18 - 1), ("9" * 19, None), ("  7", 7), ("7 of 8", 7), ("x7", None)]
)
def test_numbers_have_at_most_18_digits(text: str, number: int | None) -> None:
    assert whole(text) == number


def a_format(begins: str = "BEGIN", goes_on: str = r"\s+more") -> Format:
    return Format("tool", "tool", "tool", begins, goes_on, lambda _lines, _argument: ())


def test_a_line_follows_that_begins_or_goes_on() -> None:
    one = a_format()
    assert one.follows("BEGIN again") and one.follows("  more")
    assert not one.follows("less") and not one.follows("a BEGIN") and not one.follows("")


def test_a_reader_gets_the_beginning_of_a_long_line() -> None:
    longest = {one.tool: one.longest for one in FORMATS if one.longest != 1000}
    assert longest == {"rdma": 1 << 16}, "rdma statistic prints all counters of a port on one line"


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.tool)
@given(text=st.text(alphabet=st.characters(max_codepoint=0x250), max_size=300))
def test_no_reader_fails_on_any_line(one: Format, text: str) -> None:
    lines = [Line(number, row) for number, row in enumerate(text.split("\n"), 1)]
    for argument in ("", "eth0", "-l"):
        for told in one.read(lines, argument):
            assert 1 <= told.line <= len(lines) and told.path and told.value is not None
