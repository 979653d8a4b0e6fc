"""The MTUs of one node's ports: twins that differ, an RDMA MTU that did not follow the interface, and small ones.

The ends of a link are compared in `mtu`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import RocePort, cage_ports, roce_ports
from fabricdoc.checks.wording import commands, listed, of_nodes, restart, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

OVERHEAD = 96
"""Bytes of RoCE headers the kernel sets aside when it derives the RDMA MTU (include/rdma/ib_addr.h, iboe_get_mtu)."""
RDMA_MTUS = (4096, 2048, 1024, 512, 256)


def check_port_mtu(fabric: Fabric) -> tuple[Finding, ...]:
    """Twins of different MTU, active MTUs below what the interface allows, and one line about small MTUs."""
    return of_nodes(fabric, uneven_twins, stuck, small)


def expected_active_mtu(mtu: int) -> int:
    """The RDMA MTU that fits an interface's MTU, both in bytes; 0 where none does."""
    return next((one for one in RDMA_MTUS if one + OVERHEAD <= mtu), 0)


def uneven_twins(node: Node) -> Iterator[Finding]:
    """Twins of one cage with different MTUs: ping passes, large transfers over one of them stall."""
    for _cage, up in cage_ports(node):
        mtus = {mtu for one in up if (mtu := _mtu(one))}
        if len(mtus) > 1:
            low = next(one for one in up if _mtu(one) == min(mtus))
            yield Finding(
                id="twin-mtu-differs",
                severity="warning",
                subject=f"{node.name}/{low.netdev.name}",
                evidence=seen(node, *(_text(one) for one in up)),
                cause=f"{listed([one.netdev.name for one in up])} share one cable but have different MTUs. Where the "
                "other end sends full frames to the smaller one they are dropped, and large transfers stall.",
                fix=commands(node, ["sudo", "ip", "link", "set", "dev", low.netdev.name, "mtu", str(max(mtus))]),
            )


def stuck(node: Node) -> Iterator[Finding]:
    """An RDMA MTU below what the interface's MTU allows: it did not follow a change."""
    for one in roce_ports(node):
        active, most, mtu = one.port.active_mtu, one.port.max_mtu, _mtu(one)
        if isinstance(active, Unknown) or not mtu or one.netdev.master is not None:
            continue
        wanted = min(expected_active_mtu(mtu), most if isinstance(most, int) else RDMA_MTUS[0])
        if 0 < active < wanted:
            yield Finding(
                id="active-mtu-low",
                severity="warning",
                subject=f"{node.name}/{one.hca.name}",
                evidence=seen(node, f"{_text(one)}, expected active_mtu {wanted}"),
                cause=f"The interface takes frames of {mtu} bytes, yet RDMA on it still uses {active}: the port did "
                "not follow the interface's MTU, and the other end may use more.",
                fix=commands(node, *restart(one.netdev.name)),
                confidence="likely",
            )


def small(node: Node) -> Iterator[Finding]:
    """Ports whose MTU keeps RDMA at 1024 bytes or less; one line of information for a node."""
    ports = [one for one in roce_ports(node) if 0 < expected_active_mtu(_mtu(one)) <= 1024]
    if ports:
        yield Finding(
            id="roce-mtu-small",
            severity="info",
            subject=node.name,
            evidence=seen(node, *(f"{_text(one)}, active_mtu 4096 needs mtu 4200" for one in ports[:16])),
            cause="With this MTU RDMA sends packets of 1024 bytes or less. 4096 gives about 5 % on large collectives "
            "and nothing on small ones.",
            fix=(
                "only if every port of the fabric and the switches between them get the same:",
                *commands(
                    node, *(["sudo", "ip", "link", "set", "dev", one.netdev.name, "mtu", "9000"] for one in ports[:16])
                ),
            ),
        )


def _mtu(one: RocePort) -> int:
    """The interface's MTU in bytes, 0 where unknown."""
    return one.netdev.mtu if isinstance(one.netdev.mtu, int) else 0


def _text(one: RocePort) -> str:
    active = "" if isinstance(one.port.active_mtu, Unknown) else f", {one.hca.name} active_mtu {one.port.active_mtu}"
    return f"{one.netdev.name} mtu {_mtu(one) or 'unknown'}{active}"
