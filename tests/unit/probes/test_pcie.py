"""PCIe functions from recorded trees: chains, links, ACS as root and as a user, AER, VFs, sleepers, what fell off."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import PcieFunction
from fabricdoc.probes import pcie
from tests.sysfs import Pci, bridge, pci, server, spark, write

pytestmark = pytest.mark.unit

NIC = Pci("0000:03:00.0", ("0000:00:01.0",))
HCAS = ["0000:03:00.0"]


def read(root: Path, addresses: Sequence[str] = HCAS) -> dict[str, PcieFunction]:
    found = [PcieFunction.model_validate(one) for one in pcie.read_pcie(addresses, str(root))]
    assert len({one.address for one in found}) == len(found)
    return {one.address: one for one in found}


def lone(root: Path, nic: Pci = NIC, **root_port: Any) -> PcieFunction:
    """The NIC, read from a tree that holds it and its root port."""
    pci(root, bridge("0000:00:01.0", **root_port))
    pci(root, nic)
    return read(root)["0000:03:00.0"]


def test_a_spark_has_two_domains_and_a_gpu_in_a_third(tmp_path: Path) -> None:
    found = read(spark(tmp_path), ["0000:01:00.0"])
    assert list(found) == [
        "0000:00:00.0", "0000:01:00.0", "0000:01:00.1", "0002:00:00.0", "0002:01:00.0", "0002:01:00.1",
        "000f:00:00.0", "000f:01:00.0",
    ]  # fmt: skip
    nic, gpu = found["0002:01:00.1"], found["000f:01:00.0"]
    assert (nic.current_speed_gts, nic.current_width, nic.max_width, nic.numa_node) == (32.0, 4, 4, -1)
    assert (nic.vendor, nic.device, nic.pci_class, nic.driver) == ("0x15b3", "0x1021", "0x020000", "mlx5_core")
    assert nic.upstream == ("0002:00:00.0",)
    assert (gpu.vendor, gpu.pci_class, gpu.driver, gpu.upstream) == ("0x10de", "0x030200", "nvidia", ("000f:00:00.0",))
    assert found["0000:00:00.0"].upstream == ()


def test_the_chain_goes_from_the_root_port_down_to_the_parent(tmp_path: Path) -> None:
    found = read(server(tmp_path, rails=2, slots=16), ["0000:13:00.0", "0000:23:00.0"])
    nic, gpu = found["0000:13:00.0"], found["0000:14:00.0"]
    assert nic.upstream == ("0000:10:01.0", "0000:11:00.0", "0000:12:00.0")
    assert gpu.upstream == ("0000:10:01.0", "0000:11:00.0", "0000:12:01.0")
    assert (nic.numa_node, found["0000:23:00.0"].numa_node) == (0, 1)
    assert found["0000:12:00.0"].upstream == nic.upstream[:2]
    assert found["0000:12:00.0"].acs is False
    assert len(found) == 12


def test_other_functions_of_the_bus_are_not_reported(tmp_path: Path) -> None:
    pci(tmp_path, Pci("0000:05:00.0", (), "0x8086", "0x1533", "0x020000", "igb"))
    pci(tmp_path, Pci("0000:06:00.0", (), "0x10de", "0x22a3", "0x068000", ""))
    pci(tmp_path, Pci("0000:07:00.0", (), "0x15b3", "0xc2d2", "0x080100", ""))
    lone(tmp_path)
    assert set(read(tmp_path)) == {"0000:00:01.0", "0000:03:00.0"}


def test_a_nic_of_another_vendor_counts_when_it_has_an_hca(tmp_path: Path) -> None:
    pci(tmp_path, Pci("0000:05:00.0", (), "0x14e4", "0x1750", "0x020000", "bnxt_en"))
    assert set(read(tmp_path, ["0000:05:00.0"])) == {"0000:05:00.0"}


def test_a_nic_without_a_driver_is_reported_all_the_same(tmp_path: Path) -> None:
    assert lone(tmp_path, replace(NIC, driver="")).driver == Unknown(unknown="no driver is bound to it")
    assert set(read(tmp_path, [])) == {"0000:00:01.0", "0000:03:00.0"}


def test_a_link_that_trained_low_shows_both_values(tmp_path: Path) -> None:
    nic = lone(tmp_path, replace(NIC, speed="2.5 GT/s PCIe", width=1, max_width=16))
    assert (nic.current_speed_gts, nic.max_speed_gts, nic.current_width, nic.max_width) == (2.5, 32.0, 1, 16)


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("2.5 GT/s PCIe", 2.5),
        ("5 GT/s", 5.0),
        ("8.0 GT/s PCIe", 8.0),
        ("64.0 GT/s PCIe", 64.0),
        ("Unknown", None),
        ("Unknown speed", None),
        ("", None),
        ("nan GT/s PCIe", None),
        ("inf GT/s PCIe", None),
        ("-5 GT/s", None),
        ("133 MHz PCI-X", None),
    ],
)
def test_speeds_as_kernels_write_them(text: str, speed: float | None) -> None:
    found = pcie.speed(text)
    assert found == speed if speed is not None else "unknown" in found


@pytest.mark.parametrize(("lanes", "known"), [(1, True), (4, True), (16, True), (0, False), (63, False), (255, False)])
def test_a_width_that_no_link_can_have_is_unknown(tmp_path: Path, lanes: int, known: bool) -> None:
    assert (lone(tmp_path, replace(NIC, width=lanes)).current_width == lanes) is known


@given(st.text(max_size=40))
def test_any_speed_is_a_number_or_a_reason(text: str) -> None:
    try:
        found = pcie.speed(text)
    except ValueError:
        return
    assert isinstance(found, float) or set(found) == {"unknown"}


def test_a_virtual_bus_has_no_link_files(tmp_path: Path) -> None:
    lone(tmp_path)
    for name in ("current_link_speed", "max_link_speed", "current_link_width", "max_link_width"):
        (tmp_path / NIC.path / name).unlink()
    nic = read(tmp_path)["0000:03:00.0"]
    assert isinstance(nic.current_speed_gts, Unknown)
    assert "current_link_speed: No such file" in nic.current_speed_gts.unknown
    assert isinstance(nic.max_width, Unknown)


@pytest.mark.parametrize(
    ("control", "redirects"), [(0, False), (0x0004, True), (0x0008, True), (0x001D, True), (0x0011, False)]
)
def test_acs_redirects_when_request_or_completion_redirect_is_on(tmp_path: Path, control: int, redirects: bool) -> None:
    lone(tmp_path, acs=control)
    assert read(tmp_path)["0000:00:01.0"].acs is redirects


def test_a_bridge_without_the_capability_redirects_nothing(tmp_path: Path) -> None:
    assert lone(tmp_path).acs is False


@pytest.mark.parametrize(("readable", "reason"), [(64, pcie.ROOT_ONLY), (256, pcie.NO_EXTENDED)])
def test_acs_is_unknown_where_config_space_ends_early(tmp_path: Path, readable: int, reason: str) -> None:
    assert lone(tmp_path, replace(NIC, acs=0x1D, config=readable)).acs == Unknown(unknown=reason)


def test_a_list_of_capabilities_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    lone(tmp_path)
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 1 | 0x200 << 20)
    struct.pack_into("<I", space, 0x200, 2 | 0x100 << 20)
    (tmp_path / NIC.path / "config").write_bytes(space)
    assert read(tmp_path)["0000:03:00.0"].acs == Unknown(unknown="the list of extended capabilities does not end")


@given(st.binary(min_size=256 + 4, max_size=512))
def test_any_config_space_is_an_answer_or_a_reason(space: bytes) -> None:
    descriptor = os.memfd_create("config")
    try:
        os.write(descriptor, space)
        found = pcie.acs_redirects(descriptor)
    except struct.error:
        return
    finally:
        os.close(descriptor)
    assert isinstance(found, bool) or set(found) == {"unknown"}


def test_what_fell_off_the_bus_is_gone(tmp_path: Path) -> None:
    lone(tmp_path)
    (tmp_path / NIC.path / "config").write_bytes(b"\xff" * 64)
    found = read(tmp_path)
    assert (found["0000:03:00.0"].gone, found["0000:00:01.0"].gone) == (True, False)
    assert isinstance(found["0000:03:00.0"].acs, Unknown)


def test_config_space_that_is_hidden_is_a_reason_and_nothing_is_gone(tmp_path: Path) -> None:
    lone(tmp_path)
    (tmp_path / NIC.path / "config").unlink()
    nic = read(tmp_path)["0000:03:00.0"]
    assert (nic.gone, isinstance(nic.acs, Unknown)) == (False, True)
    (tmp_path / NIC.path / "config").mkdir()
    assert isinstance(read(tmp_path)["0000:03:00.0"].acs, Unknown)


def test_what_sleeps_is_not_woken(tmp_path: Path) -> None:
    lone(tmp_path)
    folder = tmp_path / NIC.path
    write(folder, {"power/runtime_status": "suspended"})
    for name in ("config", "current_link_speed", "max_link_speed", "current_link_width", "max_link_width"):
        (folder / name).unlink()
        os.mkfifo(folder / name)  # opening one would wait for ever
    nic = read(tmp_path)["0000:03:00.0"]
    asleep = Unknown(unknown=pcie.ASLEEP)
    assert (nic.acs, nic.current_speed_gts, nic.max_width, nic.gone) == (asleep, asleep, asleep, False)
    assert nic.aer == {"correctable": 0, "nonfatal": 0, "fatal": 0}


def test_aer_totals_by_severity(tmp_path: Path) -> None:
    assert lone(tmp_path, replace(NIC, aer=(12, 3, 1))).aer == {"correctable": 12, "nonfatal": 3, "fatal": 1}


@pytest.mark.parametrize("text", ["", "RxErr 4", "TOTAL_ERR_COR -1", "TOTAL_ERR_COR 9999999999999999999", "\xff\xfe"])
def test_aer_without_a_total_is_left_out(tmp_path: Path, text: str) -> None:
    lone(tmp_path)
    write(tmp_path / NIC.path, {"aer_dev_correctable": text})
    (tmp_path / NIC.path / "aer_dev_fatal").unlink()
    assert read(tmp_path)["0000:03:00.0"].aer == {"nonfatal": 0}


def test_a_virtual_function_has_no_link_of_its_own(tmp_path: Path) -> None:
    lone(tmp_path)
    pci(tmp_path, Pci("0000:03:00.2", NIC.above, speed="Unknown", width=0, physfn="0000:03:00.0"))
    assert "0000:03:00.2" not in read(tmp_path)
    virtual = read(tmp_path, ["0000:03:00.2"])["0000:03:00.2"]
    of_parent = Unknown(unknown=pcie.OF_PARENT)
    assert virtual.physical_function == "0000:03:00.0"
    assert (virtual.current_speed_gts, virtual.current_width, virtual.acs, virtual.aer) == (*[of_parent] * 3, {})
    assert virtual.upstream == NIC.above


def test_a_function_that_goes_away_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lone(tmp_path)
    whole = pcie.function

    def function(base: str, address: str, above: tuple[str, ...] | None) -> dict[str, Any]:
        if address == "0000:03:00.0":
            shutil.rmtree(tmp_path / NIC.path)
        return whole(base, address, above)

    monkeypatch.setattr(pcie, "function", function)
    assert set(read(tmp_path)) == {"0000:00:01.0"}


def test_a_tree_without_links_still_has_its_functions(tmp_path: Path) -> None:
    write(tmp_path, {"sys/bus/pci/devices/000f:01:00.0/vendor": "0x10de"})
    write(tmp_path, {"sys/bus/pci/devices/000f:01:00.0/class": "0x030200"})
    assert read(tmp_path, [])["000f:01:00.0"].upstream == ()


def test_no_pci_bus_is_no_function(tmp_path: Path) -> None:
    assert read(tmp_path, []) == {}


def test_long_domains_sort_as_numbers() -> None:
    assert sorted(["10000:01:00.0", "ffff:01:00.0", "0000:02:00.1"], key=pcie.in_order)[-1] == "10000:01:00.0"


def test_this_machines_bus_is_read() -> None:
    found = [PcieFunction.model_validate(one) for one in pcie.read_pcie([])]
    assert all(one.address.count(":") == 2 for one in found)
    for address in pcie.listed("/sys/bus/pci/devices")[:4]:
        one = PcieFunction.model_validate(pcie.function("/sys/bus/pci/devices", address))
        assert not isinstance(one.vendor, Unknown)
        assert one.gone is False
