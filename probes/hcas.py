"""RDMA devices and their ports from /sys/class/infiniband; no verbs library is needed for these.

What sysfs does not hold (the active RDMA MTU) is left unknown here and filled in from `verbs`. Names are
reported as the kernel gives them and never taken apart: images rename devices at will.
"""

from __future__ import annotations

from typing import Any

from .facts import attempt, exists, is_unknown, linked_name, listed, load, names, read_int, read_text, unknown
from .gids import read_gids
from .netdevs import pci_of

ELSEWHERE = "its interface is in another network namespace"
NO_NETDEV = "no GID of the port and no link of the device names one"
MTU_UNKNOWN = "sysfs does not hold it and libibverbs was not asked"


def read_hcas(root: str = "") -> Any:
    """Every HCA by name (model.fabric.Hca); none where the kernel has no RDMA class. Raises OSError."""
    base = f"{root}/sys/class/infiniband"
    if not exists(f"{root}/sys/class"):
        return unknown("/sys is not mounted")
    if not exists(base):
        return []
    return [hca(f"{base}/{name}", name) for name in names(base)]


def hca(base: str, name: str) -> dict[str, Any]:
    """One device. Soft devices have no PCI address; fields a driver does not offer are unknown."""
    return {
        "name": name,
        "driver": _driver(base),
        "firmware": read_text(f"{base}/fw_ver"),
        "node_guid": read_text(f"{base}/node_guid"),
        "sys_image_guid": read_text(f"{base}/sys_image_guid"),
        "board_id": read_text(f"{base}/board_id"),
        "pci": pci_of(f"{base}/device"),
        "ports": [port(base, number) for number in _port_numbers(base)],
    }


def _driver(base: str) -> Any:
    """The kernel driver; only rdma_rxe has a file `parent` (drivers/infiniband/sw/rxe), and no device link."""
    if exists(f"{base}/parent"):
        return "rdma_rxe"
    return attempt(lambda: linked_name(f"{base}/device/driver"))


def _port_numbers(base: str) -> list[int]:
    return sorted(int(name) for name in listed(f"{base}/ports") if name.isdigit())


def port(base: str, number: int) -> dict[str, Any]:
    """One port (model.fabric.Port). A port without a cable still reports a rate: 40 on ConnectX-7."""
    here = f"{base}/ports/{number}"
    gids = attempt(lambda: read_gids(here))
    link_layer = read_text(f"{here}/link_layer")
    return {
        "number": number,
        "state": attempt(lambda: _word(load(f"{here}/state"))),
        "phys_state": attempt(lambda: _word(load(f"{here}/phys_state"))),
        "rate_gbps": attempt(lambda: float(load(f"{here}/rate").split()[0])),
        "link_layer": link_layer,
        "active_mtu": unknown(MTU_UNKNOWN),
        "netdev": _netdev(base, link_layer, number, gids),
        "gids": gids,
    }


def _word(text: str) -> str:
    """The word of a numbered state: "4: ACTIVE" is ACTIVE, "5: LinkUp" is LinkUp."""
    return text.partition(":")[2].strip() or text


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


def with_mtus(hcas: Any, mtus: dict[str, Any], reason: str) -> Any:
    """The same HCAs with `active_mtu` from `mtus` ("device/port" -> bytes), else unknown with `reason`."""
    for device in hcas if isinstance(hcas, list) else []:
        for one in device["ports"]:
            key = f"{device['name']}/{one['number']}"
            one["active_mtu"] = mtus.get(key, unknown(reason or "libibverbs does not list this port"))
    return hcas
