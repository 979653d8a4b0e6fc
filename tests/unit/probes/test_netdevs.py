"""Interfaces: fields of the kernel's messages, and sysfs believed only for the same interface."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.fabric import Netdev
from fabricdoc.probes import netdevs
from fabricdoc.probes.facts import is_unknown
from tests.netlink_messages import address_body, link_body, nest
from tests.sysfs import link, write

pytestmark = pytest.mark.unit

MAC = bytes.fromhex("4ebcea000001")


def u32(number: int) -> bytes:
    return struct.pack("=I", number)


def port(index: int = 4, **changed: bytes) -> dict[str, Any]:
    fields = {
        "1": MAC,
        "3": b"enp1s0f0np0\0",
        "4": u32(9000),
        "16": b"\6",
        "33": b"\1",
        "35": u32(3),
        "38": b"p0\0",
        "52": nest([(53, b"spark-left\0"), (53, b"enxaabb\0")]),
    } | changed
    return netdevs.link(link_body(index, [(int(kind), value) for kind, value in fields.items()]))


def interface(
    root: Path, name: str = "enp1s0f0np0", index: int = 4, speed: str = "200000", mac: str = MAC.hex(":")
) -> None:
    device = "sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0"
    base = f"{device}/net/{name}"
    write(root, {f"{base}/ifindex": str(index), f"{base}/speed": speed, f"{base}/address": mac})
    (root / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
    link(root, f"{device}/driver", "sys/bus/pci/drivers/mlx5_core")
    link(root, f"{base}/device", device)
    link(root, f"sys/class/net/{name}", base)


def test_a_link_is_what_the_kernel_says() -> None:
    found = port()
    assert found == {
        "name": "enp1s0f0np0",
        "ifindex": 4,
        "mac": "4e:bc:ea:00:00:01",
        "mtu": 9000,
        "carrier": True,
        "operstate": "up",
        "carrier_changes": 3,
        "phys_port_name": "p0",
        "kind": None,
        "master_index": 0,
        "altnames": ["spark-left", "enxaabb"],
    }


def test_what_the_kernel_leaves_out_is_unknown() -> None:
    found = netdevs.link(link_body(7, [(3, b"x\0")]))
    for name in ("mac", "mtu", "carrier", "carrier_changes", "phys_port_name"):
        assert is_unknown(found[name]), name
    assert found["operstate"] == "unknown"
    assert is_unknown(port(**{"16": b"\x63"})["operstate"])


@pytest.mark.parametrize(("state", "word"), [(2, "down"), (3, "lowerlayerdown"), (5, "dormant"), (6, "up")])
def test_operstates_are_sysfs_words(state: int, word: str) -> None:
    assert port(**{"16": bytes([state])})["operstate"] == word


def test_a_software_interface_has_a_kind_and_a_master() -> None:
    veth = port(5, **{"3": b"veth0\0", "10": u32(9), "18": nest([(2, b"data"), (1, b"veth\0")])})
    bridge = port(9, **{"3": b"br0\0"})
    lone = port(6, **{"3": b"veth1\0", "10": u32(77)})
    found = {one["name"]: one for one in netdevs.assemble([bridge, veth, lone], [], "/nowhere")}
    assert (found["veth0"]["kind"], found["veth0"]["master"]) == ("veth", "br0")
    assert found["veth1"]["master"] == "index 77"
    assert found["br0"]["master"] is None
    assert list(found) == ["veth0", "veth1", "br0"]


def test_addresses_go_to_their_interface() -> None:
    local, peer = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 9])
    v4 = netdevs.address(address_body(4, 2, 24, 0, [(1, peer), (2, local)]))
    v6 = netdevs.address(address_body(4, 10, 64, 253, [(1, bytes.fromhex("fe80" + "0" * 27 + "1"))]))
    other = netdevs.address(address_body(8, 2, 8, 254, [(1, bytes([127, 0, 0, 1]))]))
    (found,) = netdevs.assemble([port()], [v4, v6, other], "/nowhere")
    assert found["addresses"] == [
        {"ip": "10.77.0.1", "prefix": 24, "family": "ipv4", "scope": "global"},
        {"ip": "fe80::1", "prefix": 64, "family": "ipv6", "scope": "link"},
    ]


def test_sysfs_adds_speed_driver_and_pci(tmp_path: Path) -> None:
    interface(tmp_path)
    (found,) = netdevs.assemble([port()], [], str(tmp_path))
    assert (found["speed_mbps"], found["driver"], found["pci"]) == (200000, "mlx5_core", "0000:01:00.0")
    assert Netdev.model_validate(found).name == "enp1s0f0np0"


@pytest.mark.parametrize("changed", [{"index": 12}, {"mac": "02:00:00:00:00:09"}, {"name": "other"}])
def test_sysfs_of_another_namespace_is_not_believed(tmp_path: Path, changed: dict[str, Any]) -> None:
    interface(tmp_path, **changed)
    (found,) = netdevs.assemble([port()], [], str(tmp_path))
    elsewhere = {"unknown": "sysfs shows another network namespace"}
    assert [found[name] for name in ("speed_mbps", "driver", "pci")] == [elsewhere] * 3
    assert found["mtu"] == 9000


def test_a_port_without_link_has_no_speed(tmp_path: Path) -> None:
    interface(tmp_path, speed="-1")
    (found,) = netdevs.assemble([port()], [], str(tmp_path))
    assert found["speed_mbps"] == {"unknown": "the kernel reports -1: not known, or no link"}


def test_a_virtual_interface_has_no_device(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/net/enp1s0f0np0/ifindex": "4", "sys/class/net/enp1s0f0np0/address": MAC.hex(":")})
    (found,) = netdevs.assemble([port()], [], str(tmp_path))
    assert found["driver"] == found["pci"] == {"unknown": "no device behind it (virtual)"}


def test_the_last_pci_address_on_the_way_is_the_device(tmp_path: Path) -> None:
    (tmp_path / "devices/pci0000:00/0000:00:03.0/virtio2").mkdir(parents=True)
    (tmp_path / "devices/platform/soc").mkdir(parents=True)
    assert netdevs.pci_of(f"{tmp_path}/devices/pci0000:00/0000:00:03.0/virtio2") == "0000:00:03.0"
    assert netdevs.pci_of(f"{tmp_path}/devices/platform/soc") == {"unknown": "its device is not on a PCI bus"}


def test_this_machine_has_a_loopback() -> None:
    found = {one["name"]: one for one in netdevs.read_netdevs()}
    assert {"ip": "127.0.0.1", "prefix": 8, "family": "ipv4", "scope": "host"} in found["lo"]["addresses"]
    assert [Netdev.model_validate(one).ifindex for one in found.values()] == sorted(
        x["ifindex"] for x in found.values()
    )
