"""Interfaces with addresses, QoS and effective sysctls out of facts.

An interface without an address may have been told of by a tool that shows none; only `sources` says which. An index of
0, which the kernel never gives, stands for one that was not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricdoc.model.fabric import Qos

NOT_TOLD = {"unknown": "not in the dump"}
FACTS = (
    "mac", "mtu", "carrier", "operstate", "speed_mbps", "carrier_changes", "driver", "pci", "phys_port_name", "duplex",
    "autoneg", "fec", "lanes", "persistence",
)  # fmt: skip
PLAIN = ("kind", "master", "lower", "vlan_id", "bond_mode")
SYSCTLS = {"rp_filter": 2, "arp_ignore": 8, "arp_announce": 2}
"""Setting -> its largest value: the larger of `all` and the interface's own holds (ip-sysctl)."""
Index = Mapping[tuple[str | int, ...], Mapping[str, Any]]


def netdevs(index: Index) -> list[dict[str, Any]]:
    """Every interface told of: those with an index first by it, then the others as told."""
    kinds = ("netdev", "address", "qos")
    names = dict.fromkeys(str(subject[1]) for subject in index if subject[0] in kinds and len(subject) > 1)
    found = [_netdev(name, index) for name in names]
    return sorted(found, key=lambda one: one["ifindex"] or 1 << 31)


def _netdev(name: str, index: Index) -> dict[str, Any]:
    told = index.get(("netdev", name), {})
    qos = index.get(("qos", name))
    return {
        **{key: told.get(key, NOT_TOLD) for key in FACTS},
        **{key: told.get(key) for key in PLAIN},
        "name": name,
        "ifindex": told.get("ifindex", 0),
        "altnames": list(index.get(("netdev", name, "altname"), {})),
        "addresses": [_address(text, scope) for text, scope in index.get(("address", name), {}).items()],
        **{setting: _sysctl(name, setting, index) for setting in SYSCTLS},
        "qos": {key: qos.get(key, NOT_TOLD) for key in Qos.model_fields if key != "source"}
        | {"source": qos.get("source", "")}
        if qos
        else NOT_TOLD,
    }


def _address(text: str, scope: str) -> dict[str, Any]:
    ip, _, prefix = text.rpartition("/")
    return {"ip": ip, "prefix": int(prefix), "family": "ipv6" if ":" in ip else "ipv4", "scope": scope}


def _sysctl(name: str, setting: str, index: Index) -> Any:
    """The effective value: both were told, or one of them is the largest there is."""
    told = index.get(("sysctl",), {})
    values = [told.get(f"net.ipv4.conf.{who}.{setting}") for who in ("all", name)]
    known = [value for value in values if isinstance(value, int)]
    return max(known) if len(known) == 2 or SYSCTLS[setting] in known else NOT_TOLD
