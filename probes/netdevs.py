"""Network interfaces with their addresses, from rtnetlink; speed, driver and PCI address from sysfs.

rtnetlink always speaks of this process's own network namespace; /sys/class/net may show another one (a
namespace entered without a fresh sysfs), so sysfs is believed for an interface only when its index and its
hardware address are the same there. Nothing about RDMA here.
"""

from __future__ import annotations

import os
import re
import struct
from typing import Any

from .facts import attempt, exists, linked_name, load, read_int, unknown
from .netlink import FAMILIES, RTM_GETADDR, RTM_GETLINK, attributes, dump, ip_text, string, u32

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_MASTER = 1, 3, 4, 10
IFLA_OPERSTATE, IFLA_LINKINFO, IFLA_CARRIER, IFLA_CARRIER_CHANGES = 16, 18, 33, 35
IFLA_PHYS_PORT_NAME, IFLA_PROP_LIST, IFLA_ALT_IFNAME = 38, 52, 53
IFLA_INFO_KIND = 1
IFA_ADDRESS, IFA_LOCAL = 1, 2

LINK = struct.Struct("=BxHiII")
ADDRESS = struct.Struct("=BBBBI")
OPERSTATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
SCOPES = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
VIRTUAL = "no device behind it (virtual)"
ELSEWHERE = "sysfs shows another network namespace"


def read_netdevs(root: str = "") -> Any:
    """Every interface of this network namespace, by index (model.fabric.Netdev); raises OSError."""
    links = [link(body) for body in dump(RTM_GETLINK, LINK.pack(0, 0, 0, 0, 0))]
    dumped = dump(RTM_GETADDR, ADDRESS.pack(0, 0, 0, 0, 0))
    addresses = [address(body) for body in dumped if body[:1] and body[0] in FAMILIES]
    return assemble(links, addresses, root)


def assemble(links: list[dict[str, Any]], addresses: list[tuple[int, dict[str, Any]]], root: str) -> list[Any]:
    """Links with their addresses, their master's name instead of its index, and what sysfs adds."""
    names = {found["ifindex"]: found["name"] for found in links}
    netdevs = []
    for found in sorted(links, key=lambda one: int(one["ifindex"])):
        master = found.pop("master_index")
        found["master"] = names.get(master, f"index {master}") if master else None
        found["addresses"] = [one for index, one in addresses if index == found["ifindex"]]
        found.update(from_sysfs(root, found))
        netdevs.append(found)
    return netdevs


def link(body: bytes) -> dict[str, Any]:
    """One RTM_NEWLINK message: what the kernel itself says of an interface, `master_index` still a number."""
    _family, _type, ifindex, _flags, _change = LINK.unpack_from(body)
    found = dict(attributes(body, LINK.size))
    state = found[IFLA_OPERSTATE][0] if found.get(IFLA_OPERSTATE) else 0
    return {
        "name": string(found[IFLA_IFNAME]),
        "ifindex": ifindex,
        "mac": found[IFLA_ADDRESS].hex(":") if found.get(IFLA_ADDRESS) else unknown("it has no hardware address"),
        "mtu": _number(found, IFLA_MTU),
        "carrier": bool(found[IFLA_CARRIER][0]) if found.get(IFLA_CARRIER) else unknown("the kernel does not say"),
        "operstate": OPERSTATES[state] if state < len(OPERSTATES) else unknown(f"state number {state}"),
        "carrier_changes": _number(found, IFLA_CARRIER_CHANGES),
        "phys_port_name": _phys_port_name(found),
        "kind": _kind(found),
        "master_index": u32(found[IFLA_MASTER]) if IFLA_MASTER in found else 0,
        "altnames": _altnames(found),
    }


def _number(found: dict[int, bytes], kind: int) -> Any:
    return u32(found[kind]) if kind in found else unknown("the kernel does not say")


def _phys_port_name(found: dict[int, bytes]) -> Any:
    name = string(found.get(IFLA_PHYS_PORT_NAME, b""))
    return name or unknown("the driver gives none")


def _kind(found: dict[int, bytes]) -> str | None:
    """The kernel's word for a software interface (veth, bridge, vlan); a real NIC has none."""
    for kind, value in attributes(found.get(IFLA_LINKINFO, b"")):
        if kind == IFLA_INFO_KIND:
            return string(value)
    return None


def _altnames(found: dict[int, bytes]) -> list[str]:
    properties = attributes(found.get(IFLA_PROP_LIST, b""))
    return [string(value) for kind, value in properties if kind == IFLA_ALT_IFNAME]


def address(body: bytes) -> tuple[int, dict[str, Any]]:
    """One RTM_NEWADDR message: the interface's index, and its address (model.fabric.Address).

    On a point-to-point interface IFA_ADDRESS is the peer and IFA_LOCAL is ours.
    """
    family, prefix, _flags, scope, index = ADDRESS.unpack_from(body)
    found = dict(attributes(body, ADDRESS.size))
    ip = ip_text(found.get(IFA_LOCAL) or found[IFA_ADDRESS])
    where = SCOPES.get(scope, str(scope))
    return index, {"ip": ip, "prefix": prefix, "family": FAMILIES[family], "scope": where}


def from_sysfs(root: str, found: dict[str, Any]) -> dict[str, Any]:
    """Speed (Mbit/s), driver and PCI address, each unknown where sysfs speaks of another interface."""
    base = f"{root}/sys/class/net/{found['name']}"
    if not _same_interface(base, found):
        return dict.fromkeys(("speed_mbps", "driver", "pci"), unknown(ELSEWHERE))
    return {"speed_mbps": _speed(base), "driver": _driver(base), "pci": pci_of(f"{base}/device")}


def _same_interface(base: str, found: dict[str, Any]) -> bool:
    if read_int(f"{base}/ifindex") != found["ifindex"]:
        return False
    return not isinstance(found["mac"], str) or attempt(lambda: load(f"{base}/address")) == found["mac"]


def _speed(base: str) -> Any:
    speed = read_int(f"{base}/speed")
    if isinstance(speed, int) and speed <= 0:
        return unknown(f"the kernel reports {speed}: not known, or no link")
    return speed


def _driver(base: str) -> Any:
    if not exists(f"{base}/device"):
        return unknown(VIRTUAL)
    return attempt(lambda: linked_name(f"{base}/device/driver"))


def pci_of(device: str) -> Any:
    """The PCI address a sysfs `device` link leads to (the last one on the way), or why there is none."""
    if not exists(device):
        return unknown(VIRTUAL)
    for part in reversed(os.path.realpath(device).split("/")):
        if PCI_ADDRESS.fullmatch(part):
            return part
    return unknown("its device is not on a PCI bus")
