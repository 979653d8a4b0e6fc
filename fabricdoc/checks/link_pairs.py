"""The two ends of each proven cable held against one another: speed, FEC, autonegotiation, and who has a GID.

Addresses on the ends are `link_addresses`', MTUs are `mtu`'s; ports on a switch have no other end here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fabricdoc.checks.free_addresses import Taken, add_line
from fabricdoc.checks.ports import networks
from fabricdoc.checks.segments import Attached, End, Segment, segments_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev
from fabricdoc.model.findings import Evidence, Finding, Severity


class EndFact(NamedTuple):
    """A fact that both ends of a cable must share; `read` is None where it is unknown; `fix` gets a port's name."""

    id: str
    severity: Severity
    read: Callable[[Netdev], str | None]
    cause: str
    fix: str


def check_link_pairs(fabric: Fabric) -> tuple[Finding, ...]:
    """Cables whose ends differ in speed, FEC or autonegotiation, or only one of whose ends has an IPv4 GID."""
    cables = [segment for segment in segments_of(fabric) if segment.is_cable]
    taken = Taken(fabric)
    differing = (found for cable in cables for fact in END_FACTS for found in _differs(cable, fact))
    return (*differing, *(found for cable in cables for found in one_sided_gid(cable, taken)))


def _differs(cable: Segment, fact: EndFact) -> Iterator[Finding]:
    first, second = ({value for one in end.ports if (value := fact.read(one.netdev))} for end in cable.ends)
    if len(first) == len(second) == 1 and first != second:
        yield Finding(
            id=fact.id,
            severity=fact.severity,
            subject=cable.title(),
            evidence=tuple(
                Evidence(file=end.node.name, text=f"{one.netdev.name} {fact.read(one.netdev)}")
                for end in cable.ends
                for one in end.ports
                if fact.read(one.netdev)
            ),
            cause=fact.cause,
            fix=tuple(
                line
                for end in cable.ends
                for line in (f"on {end.node.name}:", fact.fix.format(port=end.ports[0].netdev.name))
            ),
        )


def _speed(netdev: Netdev) -> str | None:
    return f"speed {netdev.speed_mbps} Mbit/s" if isinstance(netdev.speed_mbps, int) and netdev.carrier else None


def _fec(netdev: Netdev) -> str | None:
    return f"FEC {netdev.fec}" if isinstance(netdev.fec, str) and netdev.carrier else None


def _autoneg(netdev: Netdev) -> str | None:
    return f"autoneg {'on' if netdev.autoneg else 'off'}" if isinstance(netdev.autoneg, bool) else None


END_FACTS = (
    EndFact(
        "link-speed-differs",
        "warning",
        _speed,
        "The two ends of one cable report different speeds: one of them was forced, or has not finished training. "
        "The link is unstable or runs at the lower of both.",
        "sudo ethtool -s {port} autoneg on",
    ),
    EndFact(
        "link-fec-differs",
        "warning",
        _fec,
        "The two ends of one cable use different error correction (FEC): frames are lost in bursts or the link comes "
        "and goes, which NCCL shows as retransmissions and time-outs.",
        "sudo ethtool --set-fec {port} encoding auto",
    ),
    EndFact(
        "link-autoneg-differs",
        "info",
        _autoneg,
        "One end of the cable negotiates and the other is fixed. That can work, and is a usual reason for a link at "
        "the wrong speed or FEC.",
        "sudo ethtool -s {port} autoneg on",
    ),
)


def one_sided_gid(cable: Segment, taken: Taken) -> Iterator[Finding]:
    """gid-missing-at-one-end: an ACTIVE port without an IPv4 RoCE v2 GID whose peer has one.

    Both ends bare work over GID 0 (RoCE v1, fe80); one bare end fails: ibv_modify_qp 22 in the kernel that refuses the
    mix, 110 in one that waits. Twins are counted, since each meets its like.
    """
    first, second = (_bare(end) for end in cable.ends)
    if first is None or second is None or len(first) == len(second):
        return
    end, peer = cable.ends if len(first) > len(second) else cable.ends[::-1]
    own = {network for one in end.ports for network, _address in networks(one.netdev)}
    theirs = ((network, one) for one in peer.ports for network, _address in networks(one.netdev))
    missing = [both for both in theirs if both[0] not in own]
    if any(has_routable_gid(one) for one in peer.ports):
        for number, one in enumerate(first if len(first) > len(second) else second):
            network, other = missing[number] if number < len(missing) else ("", peer.ports[0])
            yield _gid_finding(one, other, taken.free(network) if network else None)


def _bare(end: End) -> list[Attached] | None:
    """The ACTIVE RoCE ports of an end without a usable GID; None where a table is unknown or none is there."""
    ports = [one for one in end.ports if one.port is not None and one.port.state == "ACTIVE"]
    if not ports or any(one.port is None or isinstance(one.port.gids, Unknown) for one in ports):
        return None
    return [one for one in ports if not has_routable_gid(one)]


def has_routable_gid(one: Attached) -> bool:
    """Whether a port has a RoCE v2 GID that maps an IPv4 address (a type that can't be read counts as one)."""
    if one.port is None or isinstance(one.port.gids, Unknown):
        return False
    return any(gid.ipv4 and (isinstance(gid.type, Unknown) or gid.type == "RoCE v2") for gid in one.port.gids)


def _gid_finding(one: Attached, other: Attached, address: str | None) -> Finding:
    hca = one.hca.name if one.hca else one.netdev.name
    return Finding(
        id="gid-missing-at-one-end",
        severity="error",
        subject=f"{one.node.name}/{hca}",
        evidence=(
            Evidence(file=one.node.name, text=f"{hca} ({one.netdev.name}): no RoCE v2 GID for an IPv4 address"),
            Evidence(file=other.node.name, text=f"{other.netdev.name} at the other end: {_addresses(other)}"),
        ),
        cause=f"One end of the cable has an IPv4 GID and {hca} has none, so NCCL pairs GID index 0 (RoCE v1) with a "
        "RoCE v2 GID: ibv_modify_qp fails with errno 22, or connecting ends with 110. It would work only if both ends "
        "were bare.",
        fix=(
            *_address_lines(one, address),
            f"or leave {hca} out on {one.node.name}: export NCCL_IB_HCA=^={hca}",
        ),
    )


def _address_lines(one: Attached, address: str | None) -> tuple[str, ...]:
    if address is None:
        return (f"give {one.netdev.name} on {one.node.name} an IPv4 address in the other end's subnet",)
    return (
        f"on {one.node.name}:",
        add_line(address, one.netdev.name),
        "and write it where the interfaces are configured (netplan, NetworkManager), so that it stays",
    )


def _addresses(one: Attached) -> str:
    found = [f"{address.ip}/{address.prefix}" for address in one.netdev.addresses if address.family == "ipv4"]
    return ", ".join(found) or "an IPv4 GID"
