"""lspci: speeds, widths, ACS, drivers, bridges' buses; grepped output keeps what it can."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, line_of

pytestmark = pytest.mark.unit

TEXT = fixture("lspci-vvv.txt")


def device(address: str, text: str = TEXT) -> dict[object, object]:
    return {path[2]: value for path, value in facts(text).items() if path[:2] == ("pcie", address)}


def test_a_function() -> None:
    assert device("0000:01:00.0") == {
        "address": "0000:01:00.0",
        "vendor": "0x15b3",
        "device": "0x1021",
        "pci_class": "0x020000",
        "numa_node": 0,
        "max_speed_gts": 32.0,
        "max_width": 4,
        "current_speed_gts": 16.0,
        "current_width": 2,
        "driver": "mlx5_core",
    }


def test_a_bridge() -> None:
    bridge = device("0000:00:00.0")
    assert (bridge["acs"], bridge["buses"], bridge["current_width"]) == (True, [1, 255], 2)


def test_a_device_that_fell_off_the_bus() -> None:
    assert device("000f:01:00.0")["gone"] is True


def test_addresses_without_a_domain() -> None:
    head = "01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]"
    text = f"{head}\n\t\tLnkSta:\tSpeed 32GT/s, Width x4\n"
    found = device("0000:01:00.0", text)
    assert found["current_width"] == 4
    assert not {"vendor", "pci_class"} & set(found)


def test_numbers_only() -> None:
    found = device("0000:01:00.0", "01:00.0 0200: 15b3:1021\n\tSubsystem: 15b3:0007\n")
    assert (found["vendor"], found["device"], found["pci_class"]) == ("0x15b3", "0x1021", "0x020000")


def test_capital_digits_are_written_small() -> None:
    found = device("0000:0a:00.0", "0A:00.0 Ethernet controller [0C0A]: X [15B3:10AB]\n")
    assert (found["vendor"], found["device"], found["pci_class"]) == ("0x15b3", "0x10ab", "0x0c0a00")


def test_acs_lines_alone_are_of_no_device() -> None:
    on = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    off = on.replace("+", "-")
    assert facts(on + off) == {("acs", 1): True, ("acs", 2): False}


def test_lines_are_those_of_the_text() -> None:
    assert line_of(TEXT, ("pcie", "0000:01:00.0", "current_width")) == 11


@pytest.mark.parametrize("line", ["\t\tLnkSta:\tSpeed ..GT/s, Width xx", "\t\tLnkCap:\tPort #0", "\tNUMA node: many"])
def test_lines_without_their_numbers(line: str) -> None:
    assert set(device("0000:01:00.0", f"01:00.0 Ethernet controller: X\n{line}\n")) == {"address"}


@pytest.mark.parametrize(
    ("flags", "redirects"),
    [("ReqRedir+ CmpltRedir+", True), ("ReqRedir+ CmpltRedir-", True), ("ReqRedir- CmpltRedir+", True),
     ("ReqRedir- CmpltRedir-", False)],
)  # fmt: skip
def test_acs_redirects_with_either_bit(flags: str, redirects: bool) -> None:
    text = f"00:01.0 PCI bridge: X\n\t\tACSCtl:\tSrcValid+ TransBlk- {flags} UpstreamFwd- EgressCtrl- DirectTrans-\n"
    assert device("0000:00:01.0", text)["acs"] is redirects


@pytest.mark.parametrize(
    "line", ["01:00.0 Ethernet controller: X (rev ff)", "01:00.0 Ethernet controller: X\n\t!!! Unknown header type 7f"]
)
def test_a_device_that_does_not_answer(line: str) -> None:
    assert device("0000:01:00.0", f"{line}\n")["gone"] is True
    assert "gone" not in device("0000:01:00.0", "01:00.0 Ethernet controller: X (rev fe)\n\tHeader type 00\n")


def test_the_capability_of_a_second_kind_is_not_the_link() -> None:
    text = "01:00.0 Ethernet controller: X\n\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s\n"
    text += "\t\tLnkSta2: Speed 8GT/s, Width x1\n"
    assert set(device("0000:01:00.0", text)) == {"address"}


def test_the_next_device_has_nothing_of_the_one_before() -> None:
    text = "01:00.0 Ethernet controller: X\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n"
    text += "02:00.0 Ethernet controller: Y\n\tNUMA node: 1\n"
    assert set(device("0000:02:00.0", text)) == {"address", "numa_node"}


@pytest.mark.parametrize(
    ("word", "width"), [("x16", 16), ("x16 (ok)", 16), ("x8 (downgraded)", 8), ("x0", 0), ("x", None), ("x128", None)]
)
def test_widths(word: str, width: int | None) -> None:
    text = f"01:00.0 Ethernet controller: X\n\t\tLnkSta:\tSpeed 32GT/s (ok), Width {word}\n"
    assert device("0000:01:00.0", text).get("current_width") == width


def test_buses_are_hexadecimal() -> None:
    text = "00:01.0 PCI bridge: X\n\tBus: primary=00, secondary=1a, subordinate=ff, sec-latency=0\n"
    assert device("0000:00:01.0", text)["buses"] == [0x1A, 0xFF]
