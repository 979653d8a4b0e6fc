"""Network interfaces of a node: link, addresses, QoS of the port, routes, rules, neighbours.

Units: MTU in bytes, speed in Mbit/s. What a probe did not read is `NOT_READ`.
"""

from typing import Literal

from fabricdoc.model.documents import NOT_READ, Fact, Frozen

Family = Literal["ipv4", "ipv6"]


class Address(Frozen):
    """One IP address of a netdev; `scope` is the kernel's word (global, link, host)."""

    ip: str
    prefix: int
    family: Literal["ipv4", "ipv6"]
    scope: str = "global"


class Qos(Frozen):
    """How a port sorts traffic. Tuples by priority have 8 entries, `dscp_priority` has 64 (-1: no entry for that DSCP).

    `trust` is what decides the priority of a received packet: `dscp` or `pcp` (mlnx_qos' words). `tc_algorithm` and
    `tc_percent` (ETS) are by traffic class. ECN: `np` marks the notification point (it sends CNPs), `rp` the reaction
    point. `source` says who was asked: `dcb` (netlink), `sysfs`, or `mlnx_qos` (its text).
    """

    trust: Fact[str] = NOT_READ
    dscp_priority: Fact[tuple[int, ...]] = NOT_READ
    pfc: Fact[tuple[bool, ...]] = NOT_READ
    priority_tc: Fact[tuple[int, ...]] = NOT_READ
    tc_algorithm: Fact[tuple[str, ...]] = NOT_READ
    tc_percent: Fact[tuple[int, ...]] = NOT_READ
    ecn_np: Fact[tuple[bool, ...]] = NOT_READ
    ecn_rp: Fact[tuple[bool, ...]] = NOT_READ
    cnp_dscp: Fact[int] = NOT_READ
    pause_rx: Fact[bool] = NOT_READ
    pause_tx: Fact[bool] = NOT_READ
    source: str = ""


class Netdev(Frozen):
    """A network interface. `mtu` in bytes, `speed_mbps` in Mbit/s as the kernel reports it.

    `fec` is the active encoding (`RS`, `BaseR`, `Off`). `lower` is the interface a VLAN or macvlan sits on, `master`
    the bond or bridge it belongs to. `rp_filter`, `arp_ignore`, `arp_announce` are the effective IPv4 settings (the
    larger of `all` and this interface). `persistence` names what brings its addresses back after a reboot.
    `port_flavour` and `port_number` are devlink's: physical, pcipf, pcivf ..., and the connector's number on its card.
    """

    name: str
    ifindex: int
    mac: Fact[str]
    mtu: Fact[int]
    carrier: Fact[bool]
    operstate: Fact[str]
    speed_mbps: Fact[int]
    carrier_changes: Fact[int]
    driver: Fact[str]
    pci: Fact[str]
    phys_port_name: Fact[str]
    kind: str | None = None
    master: str | None = None
    altnames: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()
    duplex: Fact[str] = NOT_READ
    autoneg: Fact[bool] = NOT_READ
    fec: Fact[str] = NOT_READ
    lanes: Fact[int] = NOT_READ
    lower: str | None = None
    vlan_id: int | None = None
    bond_mode: str | None = None
    rp_filter: Fact[int] = NOT_READ
    arp_ignore: Fact[int] = NOT_READ
    arp_announce: Fact[int] = NOT_READ
    persistence: Fact[str] = NOT_READ
    qos: Fact[Qos] = NOT_READ
    port_flavour: Fact[str] = NOT_READ
    port_number: Fact[int] = NOT_READ


class Route(Frozen):
    """A main-table route; `destination` is CIDR or "default"."""

    destination: str
    netdev: str
    gateway: str | None = None
    source: str | None = None
    family: Literal["ipv4", "ipv6"] = "ipv4"


class Rule(Frozen):
    """A policy routing rule; `selector` is what it matches in words of `ip rule` ("from 10.0.0.1/32"), "" for all."""

    priority: int
    table: int
    selector: str = ""
    family: Family = "ipv4"


class Neighbour(Frozen):
    """An entry of the ARP or neighbour table; `state` is the kernel's word (reachable, stale, failed, ...)."""

    ip: str
    netdev: str
    mac: str | None = None
    state: str = ""
