"""MTU of the two ends of each proven cable, and how a larger one is set. Subnets are `mtu`'s, twins `port_mtu`'s."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from fabricdoc.checks.differences import SHOWN, node_lines
from fabricdoc.checks.segments import Attached, Segment
from fabricdoc.model.documents import Fact
from fabricdoc.model.fabric import PortKey
from fabricdoc.model.findings import Evidence, Finding

CABLE_CAUSE = (
    "The two ends of one cable differ in MTU. NCCL settles on the smaller RDMA MTU (2.20 did not and fails with a "
    "local access violation); whatever does not settle loses every larger packet while small pings pass."
)


def uneven_cables(cables: Iterable[Segment], told: Collection[PortKey]) -> Iterator[Finding]:
    """mtu-mismatch for each cable whose ends differ, unless a port of it is among those `told` already."""
    for cable in cables:
        if _uneven_cable(cable) and not _is_told(cable, told):
            yield _cable_finding(cable)


def _uneven_cable(cable: Segment) -> bool:
    """Whether the ends differ in MTU, or in RDMA MTU: as sets, since twins are compared elsewhere."""
    first, second = (
        ({one.netdev.mtu for one in end.ports}, {_active_mtu(one) for one in end.ports}) for end in cable.ends
    )
    return any(_differ(one, other) for one, other in zip(first, second, strict=True))


def _differ(first: set[Fact[int]], second: set[Fact[int]]) -> bool:
    known, other = ({one for one in side if isinstance(one, int) and one} for side in (first, second))
    return bool(known and other) and known != other


def _active_mtu(one: Attached) -> Fact[int]:
    return one.port.active_mtu if one.port is not None and one.port.state == "ACTIVE" else 0


def _is_told(cable: Segment, told: Collection[PortKey]) -> bool:
    return any((one.node.name, one.netdev.name) in told for end in cable.ends for one in end.ports)


def _cable_finding(cable: Segment) -> Finding:
    members = [one for end in cable.ends for one in end.ports]
    largest = max((one.netdev.mtu for one in members if isinstance(one.netdev.mtu, int)), default=0)
    smaller = [
        (one.node.name, one.netdev.name)
        for one in members
        if isinstance(one.netdev.mtu, int) and (one.netdev.mtu < largest)
    ]
    lines = raise_lines(smaller or _lowest_active(members), largest)
    return Finding(
        id="mtu-mismatch",
        severity="warning",
        subject=cable.title(),
        evidence=tuple(Evidence(file=one.node.name, text=_mtu_text(one)) for one in members[:SHOWN]),
        cause=CABLE_CAUSE,
        fix=(*lines, permanent_line(largest)),
    )


def _mtu_text(one: Attached) -> str:
    mtu = one.netdev.mtu if isinstance(one.netdev.mtu, int) else "unknown"
    return f"{one.netdev.name} mtu {mtu}{active_text(one)}"


def _lowest_active(members: Sequence[Attached]) -> list[PortKey]:
    """Ports whose RDMA MTU is not the largest: setting the interface's MTU again makes the driver take it over."""
    known = [(mtu, one) for one in members if isinstance(mtu := _active_mtu(one), int) and mtu]
    return [(one.node.name, one.netdev.name) for mtu, one in known if mtu < max(mtu for mtu, _one in known)]


def raise_lines(smaller: Iterable[PortKey], mtu: int) -> list[str]:
    """The commands that raise the MTU, under one heading per node."""
    ordered = sorted(smaller, key=lambda key: key[0])
    return node_lines((node, [_mtu_line(netdev, mtu)]) for node, netdev in ordered)


def _mtu_line(netdev: str, mtu: int) -> str:
    return shlex.join(["sudo", "ip", "link", "set", "dev", netdev, "mtu", str(mtu)])


def permanent_line(mtu: int) -> str:
    """Where the MTU has to be written so that it stays."""
    return (
        f"make it permanent where the interfaces are configured (netplan: mtu: {mtu}), and let a switch in "
        f"between pass frames of that size"
    )


def active_text(one: Attached) -> str:
    """ ", rocep1s0f0 active_mtu 4096" of an ACTIVE port, else nothing."""
    if one.hca is None or one.port is None or not isinstance(one.port.active_mtu, int) or one.port.state != "ACTIVE":
        return ""
    return f", {one.hca.name} active_mtu {one.port.active_mtu}"
