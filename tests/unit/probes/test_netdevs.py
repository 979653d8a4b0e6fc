"""Interfaces whole: names for indexes, addresses, sysfs believed only for the same interface, what drivers say."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.fabric import Netdev
from fabricdoc.probes import dcb, ethtool, links, netdevs
from fabricdoc.probes.facts import is_unknown
from tests.netlink_messages import Attributes, address_body, inet_conf, link_body, nest, words
from tests.sysfs import link, write

pytestmark = pytest.mark.unit

MAC = bytes.fromhex("4ebcea000001")
ALL = {"rp_filter": 0, "arp_ignore": 1, "arp_announce": 2}
ELSEWHERE = {"unknown": "sysfs shows another network namespace"}
VIRTUAL = {"unknown": "no device behind it (virtual)"}


def port(index: int = 4, name: bytes = b"enp1s0f0np0", attributes: Attributes = ()) -> links.Link:
    usual = [(1, MAC), (3, name + b"\0"), (4, words(9000)), (16, b"\6"), (33, b"\1"), (26, inet_conf(rp_filter=2))]
    return links.link(link_body(index, [*usual, *attributes]))


def kind(name: bytes, data: Attributes = ()) -> tuple[int, bytes]:
    return 18, nest([(1, name + b"\0"), (2, nest(data))])


def assembled(
    found: Sequence[links.Link], addresses: Sequence[tuple[int, dict[str, Any]]] = (), root: str = "/nowhere"
) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in netdevs.assemble(list(found), list(addresses), ALL, root)}


def interface(
    root: Path, name: str = "enp1s0f0np0", index: int = 4, speed: str = "200000", mac: str = MAC.hex(":")
) -> None:
    device = "sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0"
    base = f"{device}/net/{name}"
    write(root, {f"{base}/ifindex": str(index), f"{base}/speed": speed, f"{base}/address": mac})
    (root / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
    link(root, f"{device}/driver", "sys/bus/pci/drivers/mlx5_core")
    link(root, "sys/bus/pci/devices/0000:01:00.0", device)
    link(root, f"{base}/device", device)
    link(root, f"sys/class/net/{name}", base)


def completed(monkeypatch: pytest.MonkeyPatch, root: Path, settings: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The port of `interface` after its driver was asked, which says `settings` (by index)."""
    monkeypatch.setattr(ethtool, "read_settings", lambda _wanted: settings)
    found = list(assembled([port()], root=str(root)).values())
    said: dict[str, Any] = {}
    netdevs.ask(said.update, found, str(root))
    netdevs.with_answers(found, json.loads(json.dumps(said)), "")
    return Netdev.model_validate(found[0]).model_dump()


def test_members_have_their_masters_name() -> None:
    bridge, lone = port(9, b"br0", [kind(b"bridge")]), port(6, b"veth1", [kind(b"veth"), (10, words(77))])
    member = port(5, b"veth0", [kind(b"veth"), (10, words(9)), (5, words(6))])
    found = assembled([bridge, member, lone])
    assert (found["veth0"]["kind"], found["veth0"]["master"], found["veth0"]["lower"]) == ("veth", "br0", None)
    assert found["veth1"]["master"] == "index 77"
    assert found["br0"]["master"] is None


def test_stacked_interfaces_have_the_name_of_what_is_below() -> None:
    below = (5, words(4))
    vlan = port(10, b"rail0.100", [below, kind(b"vlan", [(1, struct.pack("=H", 100))])])
    macvlan = port(11, b"mv0", [(5, words(99)), kind(b"macvlan")])
    inside = port(12, b"mv1", [below, (37, words(0)), kind(b"macvlan")])
    bond = port(13, b"bond0", [kind(b"bond", [(1, b"\4")])])
    found = assembled([port(), vlan, macvlan, inside, bond])
    assert (found["rail0.100"]["lower"], found["rail0.100"]["vlan_id"]) == ("enp1s0f0np0", 100)
    assert found["mv0"]["lower"] == "index 99"
    assert found["mv1"]["lower"] == "index 4 of another network namespace"
    assert (found["bond0"]["bond_mode"], found["bond0"]["lower"]) == ("802.3ad", None)


def test_settings_are_those_the_kernel_applies() -> None:
    (found,) = assembled([port()]).values()
    assert [found[name] for name in ("rp_filter", "arp_ignore", "arp_announce")] == [2, 1, 2]


def test_addresses_go_to_their_interface() -> None:
    local, peer = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 9])
    v4 = netdevs.address(address_body(4, 2, 24, 0, [(1, peer), (2, local)]))
    v6 = netdevs.address(address_body(4, 10, 64, 253, [(1, bytes.fromhex("fe80" + "0" * 27 + "1"))]))
    other = netdevs.address(address_body(8, 2, 8, 254, [(1, bytes([127, 0, 0, 1]))]))
    (found,) = assembled([port()], [v4, v6, other]).values()
    assert found["addresses"] == [
        {"ip": "10.77.0.1", "prefix": 24, "family": "ipv4", "scope": "global"},
        {"ip": "fe80::1", "prefix": 64, "family": "ipv6", "scope": "link"},
    ]


@pytest.mark.parametrize(
    ("family", "flags", "attribute", "leased"),
    [(2, 0x80, None, False), (2, 0, None, True), (2, 0, 0x80, False), (2, 0x80, 0x200, True), (10, 0, None, False)],
)
def test_an_ipv4_address_with_a_lifetime_is_a_lease(
    family: int, flags: int, attribute: int | None, leased: bool
) -> None:
    head = struct.pack("=BBBBI", family, 24, flags, 0, 4)
    assert netdevs.is_leased(head + (nest([(8, words(attribute))]) if attribute is not None else b"")) is leased


def test_sysfs_adds_driver_and_pci(tmp_path: Path) -> None:
    interface(tmp_path)
    (found,) = assembled([port()], root=str(tmp_path)).values()
    assert (found["driver"], found["pci"]) == ("mlx5_core", "0000:01:00.0")
    assert netdevs.has_device(found)


@pytest.mark.parametrize("changed", [{"index": 12}, {"mac": "02:00:00:00:00:09"}, {"name": "other"}])
def test_sysfs_of_another_namespace_is_not_believed(tmp_path: Path, changed: dict[str, Any]) -> None:
    interface(tmp_path, **changed)
    (found,) = assembled([port()], root=str(tmp_path)).values()
    assert (found["driver"], found["pci"], found["mtu"]) == (ELSEWHERE, ELSEWHERE, 9000)
    netdevs.with_answers([found], {"links": {}}, "")
    assert found["qos"] == ELSEWHERE
    assert is_unknown(found["speed_mbps"])


def test_the_kernels_message_names_the_device_where_sysfs_does_not(tmp_path: Path) -> None:
    interface(tmp_path, index=12)
    parent = [(56, b"0000:01:00.0\0"), (57, b"pci\0")]
    (found,) = assembled([port(attributes=parent)], root=str(tmp_path)).values()
    assert (found["driver"], found["pci"]) == ("mlx5_core", "0000:01:00.0")
    for parent in ([(56, b"virtio3\0"), (57, b"virtio\0")], [(56, b"../../../etc\0"), (57, b"pci\0")]):
        (found,) = assembled([port(attributes=parent)], root=str(tmp_path)).values()
        assert found["pci"] == ELSEWHERE


def test_what_drivers_say_is_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface(tmp_path, speed="100000")
    said = {"speed_mbps": 200000, "duplex": "full", "autoneg": True, "lanes": 2, "fec": "RS", "pause_rx": True}
    found = completed(monkeypatch, tmp_path, {4: {**said, "pause_tx": False}})
    assert {name: found[name] for name in netdevs.DRIVER_FIELDS} == {name: said[name] for name in netdevs.DRIVER_FIELDS}
    assert (found["qos"]["pause_rx"], found["qos"]["pause_tx"]) == (True, False)


def test_sysfs_has_the_speed_where_ethtool_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface(tmp_path)
    found = completed(monkeypatch, tmp_path, {})
    assert found["speed_mbps"] == 200000
    assert "does not tell" in found["duplex"]["unknown"]


def test_a_port_without_link_has_no_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface(tmp_path, speed="-1")
    assert "does not tell" in completed(monkeypatch, tmp_path, {})["speed_mbps"]["unknown"]


def test_a_virtual_interface_has_no_device_and_no_qos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcb, "ask", lambda _kind, _request: pytest.fail("a virtual interface was asked"))
    write(tmp_path, {"sys/class/net/enp1s0f0np0/ifindex": "4", "sys/class/net/enp1s0f0np0/address": MAC.hex(":")})
    found = completed(monkeypatch, tmp_path, {})
    assert found["driver"] == found["pci"] == found["qos"] == VIRTUAL


def test_what_no_driver_came_to_answer_is_unknown_with_the_reason(tmp_path: Path) -> None:
    interface(tmp_path)
    found = list(assembled([port(), port(5, b"veth0", [kind(b"veth")])], root=str(tmp_path)).values())
    slow = {"unknown": "no answer within 5 s"}
    netdevs.with_answers(found, {}, slow["unknown"])
    assert [found[0][name] for name in (*netdevs.DRIVER_FIELDS, "qos")] == [slow] * 6
    assert (found[1]["speed_mbps"], found[1]["qos"]) == (slow, VIRTUAL)
    netdevs.with_answers(found, {"links": {"4": {"fec": "RS"}}}, slow["unknown"])
    assert (found[0]["fec"], found[0]["qos"]) == ("RS", slow)
    assert "does not tell" in found[0]["lanes"]["unknown"]


def test_a_section_that_failed_has_nobody_to_ask() -> None:
    netdevs.with_answers({"unknown": "time limit"}, {}, "")


@pytest.mark.parametrize("name", sorted(netdevs.SOFTWARE))
def test_what_is_software_by_its_kind_is_not_looked_up(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(netdevs, "sysfs_folder", lambda *_words: pytest.fail("sysfs was asked"))
    (found,) = assembled([port(attributes=[kind(name.encode())])]).values()
    assert (found["driver"], found["pci"]) == (VIRTUAL, VIRTUAL)


def test_the_last_pci_address_on_the_way_is_the_device(tmp_path: Path) -> None:
    (tmp_path / "devices/pci0000:00/0000:00:03.0/virtio2").mkdir(parents=True)
    (tmp_path / "devices/platform/soc").mkdir(parents=True)
    assert netdevs.pci_of(f"{tmp_path}/devices/pci0000:00/0000:00:03.0/virtio2") == "0000:00:03.0"
    assert netdevs.pci_of(f"{tmp_path}/devices/platform/soc") == {"unknown": "its device is not on a PCI bus"}


def test_this_machines_interfaces_have_the_models_fields() -> None:
    interfaces, said = netdevs.read_netdevs(), dict[str, Any]()
    netdevs.ask(said.update, interfaces)
    netdevs.with_answers(interfaces, said, "it was asked")
    found = {one["name"]: one for one in interfaces}
    assert {"ip": "127.0.0.1", "prefix": 8, "family": "ipv4", "scope": "host"} in found["lo"]["addresses"]
    read = [Netdev.model_validate(one) for one in found.values()]
    assert [one.ifindex for one in read] == sorted(one.ifindex for one in read)
    assert "it was asked" not in json.dumps(interfaces)


def test_only_what_has_a_device_is_asked_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface(tmp_path)
    asked: list[dict[int, str]] = []
    monkeypatch.setattr(ethtool, "read_settings", lambda wanted: asked.append(wanted) or {})
    said: dict[str, Any] = {}
    found = list(assembled([port(), port(5, b"veth0", [kind(b"veth")])], root=str(tmp_path)).values())
    netdevs.ask(said.update, found, str(tmp_path))
    assert asked == [{4: "enp1s0f0np0"}]
    assert set(said) == {"links", "qos 4", "ports"}


def test_devlink_tells_of_ports_that_have_a_device(tmp_path: Path) -> None:
    interface(tmp_path)
    found = list(assembled([port(), port(5, b"veth0", [kind(b"veth")])], root=str(tmp_path)).values())
    facts = {"port_flavour": "physical", "port_number": 0}
    netdevs.with_answers(found, {"links": {}, "ports": {"4": facts}}, "")
    assert {name: found[0][name] for name in facts} == facts
    assert "port_number" not in found[1]
    netdevs.with_answers(found, {"links": {}, "ports": {}}, "")
    assert found[0]["port_flavour"] == netdevs.NO_PORT
    netdevs.with_answers(found, {"links": {}}, "no answer within 5 s")
    assert found[0]["port_number"] == {"unknown": "no answer within 5 s"}
