"""Paths and values as grep prints them; slots that are empty or can't be read are no facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.dumps.texts import facts, fixture, line_of, tools

pytestmark = pytest.mark.unit

TEXT = fixture("sysfs.txt")


def test_everything() -> None:
    assert facts(TEXT) == {
        ("hca", "rocep1s0f0", "firmware"): "28.45.4028",
        ("port", "rocep1s0f0", 1, "state"): "ACTIVE",
        ("port", "rocep1s0f0", 1, "phys_state"): "LinkUp",
        ("port", "rocep1s0f0", 1, "rate_gbps"): 200.0,
        ("gid", "rocep1s0f0", 1, 3, "gid"): "0000:0000:0000:0000:0000:ffff:0a4d:0001",
        ("gid", "rocep1s0f0", 1, 3, "ipv4"): "10.77.0.1",
        ("gid", "rocep1s0f0", 1, 3, "link_local"): False,
        ("gid", "rocep1s0f0", 1, 3, "type"): "RoCE v2",
        ("gid", "rocep1s0f0", 1, 3, "netdev"): "enp1s0f0np0",
        ("counter", "rocep1s0f0/1", "hw", "out_of_sequence"): 17,
        ("counter", "rocep1s0f0/1", "port", "link_downed"): 2,
        ("netdev", "enp1s0f0np0", "carrier_changes"): 6,
        ("sysctl", "net.ipv4.conf.all.rp_filter"): 2,
    }


def test_refused_reads_are_still_of_this_tool() -> None:
    assert tools(TEXT) == [("sysfs", 1, 14)]
    assert line_of(TEXT, ("counter", "rocep1s0f0/1", "port", "link_downed")) == 11


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("/sys/class/infiniband/m/node_guid:0a0b:0c03:00d0:1110", ("hca", "m", "node_guid"), "0a0b:0c03:00d0:1110"),
        ("/sys/class/net/eth0/address:0A:0b:0c:03:11:10", ("netdev", "eth0", "mac"), "0a:0b:0c:03:11:10"),
        ("/sys/class/net/eth0/mtu:9000", ("netdev", "eth0", "mtu"), 9000),
        ("/sys/class/net/eth0/carrier:1", ("netdev", "eth0", "carrier"), True),
        ("/sys/class/net/eth0/phys_port_name:p1", ("netdev", "eth0", "phys_port_name"), "p1"),
        ("/proc/sys/net/ipv4/conf/eth0/arp_ignore:1", ("sysctl", "net.ipv4.conf.eth0.arp_ignore"), 1),
        ("/sys/class/dmi/id/bios_version:5.36", ("host", "bios"), "5.36"),
        ("/sys/module/nvidia/version:580.1", ("host", "nvidia_driver"), "580.1"),
    ],
)
def test_each_place(line: str, path: tuple[str, ...], value: object) -> None:
    assert facts(line) == {path: value}


def test_unknown_places_and_odd_values_tell_nothing() -> None:
    assert facts("/sys/class/infiniband/m/ports/1/gids/0:nonsense\n/sys/kernel/x:1\n/sys/class/net/e/mtu:\n") == {}


PORT = "/sys/class/infiniband/m/ports/1"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{PORT}/state:4: ACTIVE", {("port", "m", 1, "state"): "ACTIVE"}),
        (f"{PORT}/state:ACTIVE", {("port", "m", 1, "state"): "ACTIVE"}),
        (f"{PORT}/phys_state:3: Disabled", {("port", "m", 1, "phys_state"): "Disabled"}),
        (f"{PORT}/rate:2.5 Gb/sec (1X SDR)", {("port", "m", 1, "rate_gbps"): 2.5}),
        (f"{PORT}/rate:fast", {}),
        (f"{PORT}/link_layer:Ethernet", {("port", "m", 1, "link_layer"): "Ethernet"}),
        (f"{PORT}/lid:0x0", {}),
        (f"{PORT}/counters/port_xmit_data:18446744073709551615", {}),
        (f"{PORT}/counters/port_xmit_data:7 words", {}),
        (f"{PORT}/hw_counters/lifespan:-1", {}),
        (f"{PORT}/gid_attrs/ndevs/3:e0", {("gid", "m", 1, 3, "netdev"): "e0"}),
        ("/sys/class/infiniband/m/hca_type:MT4129", {("hca", "m", "hca_type"): "MT4129"}),
        ("/sys/class/infiniband/m/board_id:NVD1", {("hca", "m", "board_id"): "NVD1"}),
        ("/sys/class/infiniband/m/node_desc:spark", {}),
        ("/sys/class/net/e0/speed:-1", {}),
        ("/sys/class/net/e0/speed:0", {}),
        ("/sys/class/net/e0/speed:1", {("netdev", "e0", "speed_mbps"): 1}),
        ("/sys/class/net/e0/carrier:0", {("netdev", "e0", "carrier"): False}),
        ("/sys/class/net/e0/carrier:2", {}),
        ("/sys/class/net/e0/operstate:lowerlayerdown", {("netdev", "e0", "operstate"): "lowerlayerdown"}),
        ("/sys/class/net/e0/flags:0x1003", {}),
        ("/sys/class/dmi/id/product_name=NVIDIA DGX Spark", {("host", "product"): "NVIDIA DGX Spark"}),
    ],
)
def test_every_place_and_what_is_none(line: str, told: dict[object, object]) -> None:
    assert facts(f"$ grep . /sys/class/x\n{line}\n") == told


@pytest.mark.parametrize(("length", "told"), [(300, 1), (301, 0)])
def test_a_value_without_end_is_no_fact(length: int, told: int) -> None:
    assert len(facts(f"/sys/class/dmi/id/product_name:{'x' * length}\n")) == told


def test_paths_with_colons_are_whole() -> None:
    found = facts("/proc/sys/net/ipv4/conf/e0:1/rp_filter:2\n")
    assert found == {("sysctl", "net.ipv4.conf.e0:1.rp_filter"): 2}


@given(st.text(alphabet="/syclainfbdport1gds:_attrypez=0. ", max_size=120))
def test_any_path_is_read(line: str) -> None:
    for path, value in facts(f"$ grep . /sys/class/x\n/sys/class/infiniband/{line}\n").items():
        assert path[0] in ("hca", "port", "gid", "counter") and value is not None


@pytest.mark.parametrize("place", ["gids", "gid_attrs/types", "gid_attrs/ndevs"])
def test_a_slot_far_up_is_a_slot(place: str) -> None:
    value = {"gids": "fe80:0000:0000:0000:0a0b:0cff:fe03:1110", "gid_attrs/types": "RoCE v2"}.get(place, "e0")
    assert {path[3] for path in facts(f"{PORT}/{place}/255:{value}\n")} == {255}
    assert facts(f"{PORT}/{place}/123456:{value}\n") == {}


def test_a_proc_path_of_another_kind_tells_nothing() -> None:
    assert facts("/proc/sys/vm/swappiness:60\n") == {}
