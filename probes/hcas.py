"""RDMA devices and their ports from /sys/class/infiniband; RDMA netlink fills in where sysfs is hidden or silent.

What neither holds (the active and the largest RDMA MTU) is left unknown here and filled in from `verbs`. Names are
reported as the kernel gives them and never taken apart: images rename devices at will. A device that goes away while
it is read is left out: it is not there any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import nldev
from .child import Say
from .facts import (
    READ_ERRORS,
    attempt,
    exists,
    is_unknown,
    linked_name,
    listed,
    load,
    names,
    read_int,
    read_text,
    unknown,
)
from .gids import Table, read_table
from .netdevs import pci_of
from .pcie import PCI_ADDRESS, linked

LIMIT_S = 4.0
NETDEV = re.compile(r"[^/\s\0]{1,15}")  # what the kernel takes as an interface's name
ELSEWHERE = "its interface is in another network namespace"
NO_NETDEV = "no GID of the port and no link of the device names one"
MTU_UNKNOWN = "sysfs does not hold it and libibverbs was not asked"
UNLISTED = "libibverbs does not list this port"


def read_hcas(root: str = "", said: dict[str, Any] | None = None, reason: str = "") -> Any:
    """Every HCA by name (model.rdma.Hca); none where the kernel has no RDMA class. Raises OSError.

    `said` are the ports that a child read (see `ask`), by "device/port", and `reason` is why some may be missing;
    without them they are read here. With a `root` it is a recorded tree, and RDMA netlink is not asked.
    """
    found = _from_sysfs(root, said, reason)
    return found if root else with_nldev(found)


def ask(say: Say, root: str) -> None:
    """Say {"device/port": model.rdma.Port} for every port: state and rate are questions to firmware, which may hang."""
    base = f"{root}/sys/class/infiniband"
    for name in listed(base):
        for number in _port_numbers(f"{base}/{name}"):
            say({f"{name}/{number}": port(f"{base}/{name}", number)})


def device_names(root: str = "") -> list[str]:
    """The HCAs that sysfs shows."""
    return listed(f"{root}/sys/class/infiniband")


def pci_addresses(root: str = "") -> list[str]:
    """The PCI addresses of the HCAs, of a soft one its interface's; no question to a driver."""
    base = f"{root}/sys/class/infiniband"
    found = (_pci_below(f"{base}/{name}", root) for name in listed(base))
    return [address for address in found if isinstance(address, str)]


def _pci_below(base: str, root: str) -> Any:
    """The function whose link a device's packets take."""
    parent = read_text(f"{base}/parent")
    soft = not is_unknown(parent) and NETDEV.fullmatch(parent)
    return pci_of(f"{root}/sys/class/net/{parent}/device") if soft else _pci(base)


def _from_sysfs(root: str, said: dict[str, Any] | None, reason: str) -> Any:
    base = f"{root}/sys/class/infiniband"
    if not exists(f"{root}/sys/class"):
        return unknown("/sys is not mounted")
    if not exists(base):
        return []
    read = [(f"{base}/{name}", hca(f"{base}/{name}", name, root, said, reason)) for name in names(base)]
    return [found for path, found in read if exists(path)]


def hca(base: str, name: str, root: str = "", said: dict[str, Any] | None = None, reason: str = "") -> dict[str, Any]:
    """One device. Soft devices have no PCI address; fields a driver does not offer are unknown."""
    if said is None:
        ports = [port(base, number) for number in _port_numbers(base)]
    else:
        ports = [said.get(f"{name}/{number}") or _silent_port(number, reason) for number in _port_numbers(base)]
    return {
        "name": name,
        "driver": _driver(base),
        "firmware": read_text(f"{base}/fw_ver"),
        "node_guid": read_text(f"{base}/node_guid"),
        "sys_image_guid": read_text(f"{base}/sys_image_guid"),
        "board_id": read_text(f"{base}/board_id"),
        "hca_type": read_text(f"{base}/hca_type"),
        "pci": _pci(base),
        "physical_function": linked(f"{base}/device/physfn"),
        "bond": _bond(root, base, [one["netdev"] for one in ports if isinstance(one["netdev"], str)]),
        "ports": ports,
    }


def _pci(base: str) -> Any:
    """The PCI address, or why there is none: mostly one look at the link `device`, else at all of its way."""
    address = linked(f"{base}/device") or ""
    return address if PCI_ADDRESS.fullmatch(address) else pci_of(f"{base}/device")


def _bond(root: str, base: str, netdevs: list[str]) -> str | None:
    """The bond whose RoCE LAG this device is: it carries RDMA for members whose own functions have no HCA left.

    A bond of which every member kept its HCA is no RoCE LAG. A soft device stands for a bond only when made on it.
    """
    classes, soft = f"{root}/sys/class/net", not exists(f"{base}/device")
    for name in filter(NETDEV.fullmatch, [*netdevs, *listed(f"{base}/device/net")]):
        bond = name if exists(f"{classes}/{name}/bonding") else linked(f"{classes}/{name}/master")
        if bond and (bond == name or not soft) and _is_lag(classes, bond):
            return bond
    return None


def _is_lag(classes: str, bond: str) -> bool:
    """Whether a member of the bond has no HCA on its own function; False for what is no bond."""
    try:
        members = load(f"{classes}/{bond}/bonding/slaves").split()
    except OSError:
        return False
    return not all(exists(f"{classes}/{one}/device/infiniband") for one in members if NETDEV.fullmatch(one))


def _driver(base: str) -> Any:
    """The kernel driver; only rdma_rxe has a file `parent` (drivers/infiniband/sw/rxe), and no device link."""
    if exists(f"{base}/parent"):
        return "rdma_rxe"
    return linked(f"{base}/device/driver") or attempt(lambda: linked_name(f"{base}/device/driver"))


def _port_numbers(base: str) -> list[int]:
    """A port is numbered 1 to 255 (the kernel's u8 of most calls); anything else is no port."""
    return sorted(int(name) for name in listed(f"{base}/ports") if name.isascii() and name.isdigit() and len(name) < 4)


def port(base: str, number: int) -> dict[str, Any]:
    """One port (model.rdma.Port). A port without a cable still reports a rate: 40 on ConnectX-7."""
    here = f"{base}/ports/{number}"
    table = attempt(lambda: read_table(here))
    gids, slots = table if isinstance(table, Table) else (table, table)
    link_layer = read_text(f"{here}/link_layer")
    return {
        "number": number,
        "state": _word(read_text(f"{here}/state")),
        "phys_state": _word(read_text(f"{here}/phys_state")),
        "rate_gbps": attempt(lambda: _rate(load(f"{here}/rate"))),
        "link_layer": link_layer,
        "active_mtu": unknown(MTU_UNKNOWN),
        "max_mtu": unknown(MTU_UNKNOWN),
        "netdev": _netdev(base, link_layer, number, gids),
        "gids": gids,
        "gid_slots": slots,
    }


def _rate(text: str) -> Any:
    """Gbit/s of "200 Gb/sec (2X NDR)"; no port does a petabit."""
    rate = float(text.split()[0])
    return rate if 0 <= rate < 1e6 else unknown(f"the kernel shows {text[:40]!r}")


def _silent_port(number: int, reason: str) -> dict[str, Any]:
    """A port of which nothing is known but that it is there."""
    facts = ("state", "phys_state", "rate_gbps", "link_layer", "active_mtu", "max_mtu", "netdev", "gids", "gid_slots")
    return {"number": number, **dict.fromkeys(facts, unknown(reason or "it was not read"))}


def _word(text: Any) -> Any:
    """The word of a numbered state: "4: ACTIVE" is ACTIVE, "5: LinkUp" is LinkUp."""
    return text if is_unknown(text) else text.partition(":")[2].strip() or text


def _netdev(base: str, link_layer: Any, number: int, gids: Any) -> Any:
    """The port's interface: that of its first GID, else the one of its PCI function, else rxe's parent.

    A PCI function lists its interfaces only in the network namespace they are in, so an Ethernet port whose
    function lists none can't be used from here, whatever its GID table names.
    """
    on_function = _function_netdevs(base, number)
    if not on_function and exists(f"{base}/device") and link_layer == "Ethernet":
        return unknown(ELSEWHERE)
    named = [gid["netdev"] for gid in gids if isinstance(gid["netdev"], str)] if isinstance(gids, list) else []
    if named:
        return named[0]
    if len(on_function) == 1:
        return on_function[0]
    parent = read_text(f"{base}/parent")
    return unknown(NO_NETDEV) if is_unknown(parent) else parent


def _function_netdevs(base: str, number: int) -> list[str]:
    """Interfaces of the same PCI function, those of this port if dev_port tells (it counts from 0, ports from 1)."""
    folder = f"{base}/device/net"
    found = listed(folder)
    return [name for name in found if read_int(f"{folder}/{name}/dev_port") == number - 1] or found


def with_nldev(
    found: Any,
    devices: Callable[[], list[nldev.Device]] = nldev.read_devices,
    ports: Callable[[int], list[nldev.Port]] = nldev.read_ports,
) -> Any:
    """The same HCAs with what only RDMA netlink told: devices that sysfs hides, and interfaces it could not name."""
    try:
        told = devices()
    except READ_ERRORS:
        return found
    shown = {one["name"]: one for one in found} if isinstance(found, list) else {}
    for device in told:
        known = shown.get(device.name)
        if known is not None and not any(is_unknown(one["netdev"]) for one in known["ports"]):
            continue
        asked = attempt(lambda device=device: ports(device.number))  # type: ignore[misc]
        asked = asked if isinstance(asked, list) else []
        if known is None:
            shown[device.name] = nldev.hca(device, asked)
        else:
            _name_netdevs(known["ports"], {one.number: one.netdev for one in asked})
    return [shown[name] for name in sorted(shown)]


def _name_netdevs(ports: list[dict[str, Any]], named: dict[int, str]) -> None:
    for one in ports:
        if is_unknown(one["netdev"]) and named.get(one["number"]):
            one["netdev"] = named[one["number"]]


def with_verbs(hcas: Any, said: dict[str, Any], reason: str) -> Any:
    """The same HCAs with both MTUs of each port as `verbs` said them, else unknown with `reason`."""
    missing = unknown(str(said.get("mtu_reason") or said.get("absent") or reason or UNLISTED))
    for device in hcas if isinstance(hcas, list) else []:
        for one in device["ports"]:
            told = said.get("mtus", {}).get(f"{device['name']}/{one['number']}", {})
            one["active_mtu"], one["max_mtu"] = (told.get(name, missing) for name in ("active", "max"))
    return hcas
