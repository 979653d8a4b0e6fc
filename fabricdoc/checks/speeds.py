"""Whether each port of a node is as fast as it should be: as its cage, its twin, its neighbours of the same kind.

Only what the node itself tells. The other end's speed is compared elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabricdoc.checks.limits import limit
from fabricdoc.checks.platforms import gb10, is_gb10
from fabricdoc.checks.ports import RocePort, cage_ports, roce_ports
from fabricdoc.checks.wording import commands, listed, of_nodes, restart, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Netdev, Node
from fabricdoc.model.findings import Finding

HARDWARE = "mlx5_core"


def check_speeds(fabric: Fabric) -> tuple[Finding, ...]:
    """Slow twins, slow ports, rates that contradict the interface, half duplex."""
    return of_nodes(fabric, slow_twins, slow_ports, rate_mismatch, half_duplex)


def slow_twins(node: Node) -> Iterator[Finding]:
    """Twins of one cage at different speeds: both hang on one cable, so one of them negotiated badly."""
    for cage, up in cage_ports(node):
        speeds = _speeds(up)
        if len(speeds) > 1:
            slow = [one for one in up if _speed(one.netdev) == min(speeds)]
            yield Finding(
                id="twin-speed-differs",
                severity="warning",
                subject=f"{node.name}/{slow[0].hca.name}",
                evidence=seen(node, *(_speed_text(one) for one in up), f"one cage: {cage.id} (by {cage.by})"),
                cause=f"The twins {listed([one.hca.name for one in up])} share one cable but run at different speeds; "
                "the slower one sets the pace of every message that is split over both.",
                fix=_renegotiate(node, slow[0]),
            )


def slow_ports(node: Node) -> Iterator[Finding]:
    """A port below its cage's speed (GB10), or below most of its kind on the same node."""
    uneven = {
        one.netdev.name for _cage, up in cage_ports(node) if len({_speed(x.netdev) for x in up}) > 1 for one in up
    }
    usual = _usual_speeds(node)
    for one in roce_ports(node):
        wanted = usual.get(_kind(one.hca), 0)
        if one.netdev.name in uneven or not 0 < _speed(one.netdev) < wanted:
            continue
        yield Finding(
            id="link-speed-low",
            severity="warning",
            subject=f"{node.name}/{one.hca.name}",
            evidence=seen(node, f"{_speed_text(one)}, expected {wanted} Mb/s"),
            cause=f"{one.netdev.name} negotiated less than {'its cage can do' if is_gb10(node) else 'its neighbours'}: "
            "a cable of a lower class, a switch port that negotiated down, or FEC that differs at the two ends.",
            fix=_renegotiate(node, one),
        )


def _renegotiate(node: Node, one: RocePort) -> tuple[str, ...]:
    name = one.netdev.name
    return (
        *commands(node, ["ethtool", name], ["ethtool", "--show-fec", name], ["ethtool", "-m", name]),
        "use a cable listed for 200G (QSFP56; a QSFP28 cable gives 100G), or fix speed and FEC on the switch port",
    )


def _usual_speeds(node: Node) -> dict[tuple[str, str], int]:
    """Expected speed in Mbit/s by kind of HCA: the cage's on GB10, else what more than half of three or more have."""
    ports = [one for one in roce_ports(node) if one.hca.physical_function is None and one.hca.driver == HARDWARE]
    if is_gb10(node):
        return {_kind(one.hca): gb10().cage_mbps for one in ports}
    found: dict[tuple[str, str], Counter[int]] = {}
    for one in ports:
        found.setdefault(_kind(one.hca), Counter())[_speed(one.netdev)] += 1
    most = {kind: (counted.most_common(1)[0], counted.total()) for kind, counted in found.items()}
    return {kind: speed for kind, ((speed, times), total) in most.items() if total >= 3 and times * 2 > total}


def _kind(hca: Hca) -> tuple[str, str]:
    return str(hca.hca_type), str(hca.board_id)


def rate_mismatch(node: Node) -> Iterator[Finding]:
    """A port whose RDMA rate is far from its interface's speed; only where one driver tells both (mlx5)."""
    for one in roce_ports(node):
        speed, rate = _speed(one.netdev), one.port.rate_gbps
        if one.hca.driver != HARDWARE or isinstance(rate, Unknown) or rate <= 0 or one.netdev.kind is not None:
            continue
        if speed < limit("links", "rate_from_mbps") or one.netdev.master is not None:
            continue
        ratio = max(rate * 1000 / speed, speed / (rate * 1000))
        if ratio > limit("links", "rate_ratio"):
            yield Finding(
                id="rate-speed-mismatch",
                severity="warning",
                subject=f"{node.name}/{one.hca.name}",
                evidence=seen(node, f"{one.hca.name} rate {rate:g} Gb/s, {_speed_text(one)}"),
                cause="The RDMA port and its interface tell different speeds. NCCL plans with the RDMA rate, so its "
                "model of this port is wrong; the link has usually renegotiated badly.",
                fix=commands(node, *restart(one.netdev.name)),
                confidence="possible",
            )


def half_duplex(node: Node) -> Iterator[Finding]:
    """A fabric port in half duplex: negotiation failed."""
    for one in roce_ports(node):
        if isinstance(one.netdev.duplex, str) and one.netdev.duplex.lower() == "half":
            yield Finding(
                id="half-duplex",
                severity="error",
                subject=f"{node.name}/{one.netdev.name}",
                evidence=seen(node, f"{one.netdev.name} duplex half, {_speed_text(one)}"),
                cause="The port negotiated half duplex, which no RoCE link should: one end has negotiation off.",
                fix=commands(node, ["sudo", "ethtool", "-s", one.netdev.name, "autoneg", "on"]),
            )


def _speed(netdev: Netdev) -> int:
    """Mbit/s, 0 where unknown."""
    return netdev.speed_mbps if isinstance(netdev.speed_mbps, int) and netdev.speed_mbps > 0 else 0


def _speed_text(one: RocePort) -> str:
    speed = _speed(one.netdev)
    return f"{one.hca.name} {one.netdev.name} {f'{speed} Mb/s' if speed else 'speed unknown'}"


def _speeds(ports: list[RocePort]) -> set[int]:
    return {speed for one in ports if (speed := _speed(one.netdev))}
