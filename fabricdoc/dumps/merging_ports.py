"""HCAs, ports and GIDs out of facts: what a GID table says of its port is used where nobody said more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_TOLD = {"unknown": "not in the dump"}
SOFT = ("rdma_rxe", "siw")
HCA = ("driver", "firmware", "node_guid", "sys_image_guid", "board_id", "pci", "hca_type")
PORT = (
    "state", "phys_state", "rate_gbps", "link_layer", "active_mtu", "netdev", "max_mtu", "gid_slots",
)  # fmt: skip
Index = Mapping[tuple[str | int, ...], Mapping[str, Any]]


def hcas(index: Index) -> list[dict[str, Any]]:
    """Every HCA told of, in the order told; one that only a port or a GID names counts too."""
    names = dict.fromkeys(str(subject[1]) for subject in index if subject[0] in ("hca", "port", "gid"))
    return [_hca(name, index) for name in names]


def _hca(name: str, index: Index) -> dict[str, Any]:
    numbers = {int(subject[2]) for subject in index if subject[0] in ("port", "gid") and subject[1] == name}
    told = {**_function(name, min(numbers, default=1), index), **index.get(("hca", name), {})}
    found = {key: told.get(key, NOT_TOLD) for key in HCA}
    return {
        **found,
        "name": name,
        "ports": [_port(name, number, index) for number in sorted(numbers)],
        "physical_function": told.get("physical_function"),
        "bond": told.get("bond"),
    }


def _function(name: str, port: int, index: Index) -> dict[str, Any]:
    """PCI address and driver of the port's interface: an HCA and its interface are one PCI function's.

    A VLAN, a bond or a soft device's interface has no PCI address of its own, and then nothing follows.
    """
    netdev = index.get(("port", name, port), {}).get("netdev")
    told = index.get(("netdev", str(netdev)), {})
    driver = index.get(("hca", name), {}).get("driver")
    soft = name.startswith(("rxe", "siw")) or driver in SOFT or told.get("kind") is not None
    return {} if soft or "pci" not in told else {key: told[key] for key in ("pci", "driver") if key in told}


def _port(name: str, number: int, index: Index) -> dict[str, Any]:
    told = index.get(("port", name, number), {})
    gids = [
        _gid(int(subject[3]), about)
        for subject, about in index.items()
        if subject[0] == "gid" and subject[1:3] == (name, number) and "gid" in about
    ]
    found = {key: told.get(key, NOT_TOLD) for key in PORT}
    if any(gid["type"] == "RoCE v2" for gid in gids) and "link_layer" not in told:
        found["link_layer"] = "Ethernet"
    return {**found, "number": number, "gids": sorted(gids, key=lambda gid: int(gid["index"])) or NOT_TOLD}


def _gid(number: int, about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "index": number,
        "gid": about["gid"],
        "type": about.get("type", NOT_TOLD),
        "netdev": about.get("netdev", NOT_TOLD),
        "ipv4": about.get("ipv4"),
        "link_local": about.get("link_local", False),
    }
