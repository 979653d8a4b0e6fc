"""What decides whether a port has a lossless class, read from its QoS. No finding comes from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabricdoc.checks.alike import LikePort, like_ports
from fabricdoc.checks.remembered import remembered
from fabricdoc.checks.segments import segments_of
from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Fabric, PortKey, Qos


class QosPort(NamedTuple):
    """An active port whose QoS was read."""

    one: LikePort
    qos: Qos

    @property
    def node(self) -> str:
        """The node's name."""
        return self.one.place.node

    @property
    def netdev(self) -> str:
        """The interface's name."""
        return self.one.port.netdev.name


@remembered
def lossless_groups(fabric: Fabric) -> list[list[QosPort]]:
    """Ports of one kind among which lossless traffic is meant.

    It is where most of them have PFC, or where one has and not every port is on a cable of its own: two nodes on one
    cable need none, and factory settings mean nothing.
    """
    on_cable = _on_cables(fabric)
    groups = []
    for ports in like_ports(fabric):
        known = [QosPort(one, qos) for one in ports if isinstance(qos := one.port.netdev.qos, Qos)]
        with_pfc = sum(1 for port in known if lossless(port.qos))
        away = any((port.node, port.netdev) not in on_cable for port in known)
        if with_pfc and (away or 2 * with_pfc > len(known)):
            groups.append(known)
    return groups


def _on_cables(fabric: Fabric) -> set[PortKey]:
    cables = (segment for segment in segments_of(fabric) if segment.is_cable)
    return {(one.node.name, one.netdev.name) for cable in cables for end in cable.ends for one in end.ports}


def lossless(qos: Qos) -> tuple[int, ...]:
    """The priorities with PFC; none where that is unknown."""
    return () if isinstance(qos.pfc, Unknown) else tuple(number for number, on in enumerate(qos.pfc) if on)


def ecn(qos: Qos) -> Fact[tuple[bool, ...]]:
    """By priority: whether ECN for RoCE is on at both points."""
    if isinstance(qos.ecn_np, Unknown) or isinstance(qos.ecn_rp, Unknown):
        return NOT_READ
    return tuple(notifies and reacts for notifies, reacts in zip(qos.ecn_np, qos.ecn_rp, strict=False))


def numbers(priorities: Sequence[int]) -> str:
    """ "3", "3,4", "none"."""
    return ",".join(map(str, priorities)) or "none"
