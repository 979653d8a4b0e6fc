"""Network interfaces with their addresses and all that decides how a port works, put together from many sources.

rtnetlink, ethtool's netlink, DCB and /proc/sys always speak of this process's own network namespace; /sys/class/net
may show another one (a namespace entered without a fresh sysfs), so sysfs is believed for an interface only when its
index and its hardware address are the same there. What each source means is its own module's. Nothing about RDMA here.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from . import devlink, ethtool, network_files, persistence, sysctls
from .child import Say
from .facts import attempt, exists, is_unknown, linked_name, load, read_int, unknown
from .links import Link, read_links
from .netlink import FAMILIES, RTM_GETADDR, attributes, dump, ip_text, u32
from .qos import ELSEWHERE, read_qos

IFA_ADDRESS, IFA_LOCAL, IFA_FLAGS = 1, 2, 8
IFA_F_PERMANENT = 0x80
AF_INET = 2

ADDRESS = struct.Struct("=BBBBI")
SCOPES = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
VIRTUAL = unknown("no device behind it (virtual)")
SOFTWARE = frozenset(
    ("veth", "bridge", "bond", "team", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "vxlan", "dummy", "wireguard")
)
DRIVER_FIELDS = (*ethtool.LINK_FIELDS, "fec")
NOT_ASKED = dict.fromkeys((*DRIVER_FIELDS, "qos"), unknown("its driver was not asked"))
NO_PORT = unknown("devlink names no port of it")
LIMIT_S = 5.0


def read_netdevs(root: str = "") -> Any:
    """Every interface of this network namespace, by index (model.netdev.Netdev); raises OSError.

    What only drivers know (DRIVER_FIELDS and QoS) is asked for by `ask`, and put in by `with_answers`.
    """
    links = sorted(read_links(), key=lambda one: int(one.fields["ifindex"]))
    bodies = [body for body in dump(RTM_GETADDR, ADDRESS.pack(0, 0, 0, 0, 0)) if body[:1] and body[0] in FAMILIES]
    netdevs = assemble(links, [address(body) for body in bodies], sysctls.read_all(root), root)
    sources = network_files.read_sources(root)
    leased = {address(body)[0] for body in bodies if is_leased(body)}
    for one in netdevs:
        one["persistence"] = persistence.persistence(one, one["ifindex"] in leased, sources)
    return netdevs


def assemble(
    links: list[Link], addresses: list[tuple[int, dict[str, Any]]], everywhere: Mapping[str, Any], root: str
) -> list[dict[str, Any]]:
    """Links with names instead of indexes, addresses, effective settings (`everywhere`: those of `all`), device."""
    names = {link.fields["ifindex"]: link.fields["name"] for link in links}
    held: dict[int, list[dict[str, Any]]] = {}
    for index, one in addresses:
        held.setdefault(index, []).append(one)
    return [
        {
            **link.fields,
            "master": names.get(link.master, f"index {link.master}") if link.master else None,
            "lower": _lower(link, names),
            "addresses": held.get(link.fields["ifindex"], []),
            **sysctls.effective(link.own_sysctls, everywhere),
            **NOT_ASKED,
            **device(link, root),
        }
        for link in links
    ]


def _lower(link: Link, names: Mapping[int, str]) -> str | None:
    if not link.lower:
        return None
    if link.elsewhere:
        return f"index {link.lower} of another network namespace"
    return names.get(link.lower, f"index {link.lower}")


def address(body: bytes) -> tuple[int, dict[str, Any]]:
    """One RTM_NEWADDR message: the interface's index, and its address (model.netdev.Address).

    On a point-to-point interface IFA_ADDRESS is the peer and IFA_LOCAL is ours.
    """
    family, prefix, _flags, scope, index = ADDRESS.unpack_from(body)
    found = dict(attributes(body, ADDRESS.size))
    ip = ip_text(found.get(IFA_LOCAL) or found[IFA_ADDRESS])
    where = SCOPES.get(scope, str(scope))
    return index, {"ip": ip, "prefix": prefix, "family": FAMILIES[family], "scope": where}


def is_leased(body: bytes) -> bool:
    """Whether an RTM_NEWADDR message is an IPv4 address with a lifetime: what a DHCP client sets."""
    family, _prefix, flags, _scope, _index = ADDRESS.unpack_from(body)
    found = dict(attributes(body, ADDRESS.size))
    flags = u32(found[IFA_FLAGS]) if IFA_FLAGS in found else flags
    return bool(family == AF_INET and not flags & IFA_F_PERMANENT)


def device(link: Link, root: str) -> dict[str, Any]:
    """Driver and PCI address from sysfs; from the kernel's own message where sysfs speaks of another interface.

    Of what is software by its kind, sysfs need not be asked: a container host has hundreds of these.
    """
    if link.fields["kind"] in SOFTWARE:
        return {"driver": VIRTUAL, "pci": VIRTUAL}
    folder = sysfs_folder(link.fields, root)
    if folder:
        return {"driver": _driver(f"{folder}/device"), "pci": pci_of(f"{folder}/device")}
    bus, name = link.parent
    if bus == "pci" and PCI_ADDRESS.fullmatch(name):
        return {"driver": _driver(f"{root}/sys/bus/pci/devices/{name}"), "pci": name}
    return dict.fromkeys(("driver", "pci"), unknown(ELSEWHERE))


def sysfs_folder(interface: Mapping[str, Any], root: str) -> str:
    """The interface's folder in sysfs, "" where sysfs shows another network namespace."""
    base = f"{root}/sys/class/net/{interface['name']}"
    if read_int(f"{base}/ifindex") != interface["ifindex"]:
        return ""
    same = not isinstance(interface["mac"], str) or attempt(lambda: load(f"{base}/address")) == interface["mac"]
    return base if same else ""


def _driver(base: str) -> Any:
    if not exists(base):
        return VIRTUAL
    return attempt(lambda: linked_name(f"{base}/driver"))


def pci_of(base: str) -> Any:
    """The PCI address a sysfs `device` link leads to (the last one on the way), or why there is none."""
    if not exists(base):
        return VIRTUAL
    for part in reversed(os.path.realpath(base).split("/")):
        if PCI_ADDRESS.fullmatch(part):
            return part
    return unknown("its device is not on a PCI bus")


def has_device(interface: Mapping[str, Any]) -> bool:
    """Whether there is hardware (or a hypervisor's device) behind an interface, as far as is known."""
    return not (is_unknown(interface["driver"]) and is_unknown(interface["pci"]))


def ask(say: Say, netdevs: Sequence[dict[str, Any]], root: str = "") -> None:
    """Say what drivers know: {"links": {INDEX: DRIVER_FIELDS}}, then {"qos INDEX": model.netdev.Qos} port by port.

    Drivers may ask their firmware and hold the kernel's lock meanwhile: for a child with a deadline of its own.
    """
    settings = ethtool.read_settings({one["ifindex"]: one["name"] for one in netdevs if has_device(one)})
    links = {
        str(index): {name: said[name] for name in DRIVER_FIELDS if name in said} for index, said in settings.items()
    }
    for one in netdevs:
        if one["ifindex"] not in settings and isinstance(speed := _speed(one, root), int):
            links[str(one["ifindex"])] = {"speed_mbps": speed}
    say({"links": links})
    for one in netdevs:
        if has_device(one):
            said = ethtool.complete(settings.get(one["ifindex"]))
            pause = {name: said[name] for name in ethtool.PAUSE_FIELDS}
            say({f"qos {one['ifindex']}": read_qos(one, pause, sysfs_folder(one, root), root)})
    if any(has_device(one) for one in netdevs):
        say({"ports": attempt(devlink.read_ports)})


def with_answers(netdevs: Any, said: Mapping[str, Any], reason: str) -> None:
    """Put in what `ask` said; what it did not come to is unknown with `reason`."""
    silent = unknown(reason or "its driver was not asked")
    links = said.get("links")
    for one in netdevs if isinstance(netdevs, list) else []:
        nothing = dict.fromkeys(DRIVER_FIELDS, silent if links is None else ethtool.UNSUPPORTED)
        one.update({**nothing, **(links or {}).get(str(one["ifindex"]), {})})
        one["qos"] = said.get(f"qos {one['ifindex']}", silent) if has_device(one) else one["driver"]
        if has_device(one):
            one.update(_port(said.get("ports", silent), one))


def _port(ports: Any, interface: Mapping[str, Any]) -> dict[str, Any]:
    """devlink's facts of one interface, or why there are none."""
    if is_unknown(ports):
        return dict.fromkeys(devlink.FIELDS, ports)
    return {**dict.fromkeys(devlink.FIELDS, NO_PORT), **ports.get(str(interface["ifindex"]), {})}


def _speed(interface: Mapping[str, Any], root: str) -> Any:
    """Mbit/s from sysfs, for a kernel whose ethtool netlink does not answer."""
    folder = sysfs_folder(interface, root)
    speed: Any = read_int(f"{folder}/speed") if folder else unknown(ELSEWHERE)
    return speed if is_unknown(speed) else ethtool.speed(speed & ethtool.SPEED_UNKNOWN)
