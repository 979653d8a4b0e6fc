"""Active RoCE ports without the GID that NCCL's automatic choice looks for.

The rule (NCCL 2.21 and later): the first RoCE v2 GID that maps an IPv4 address; where there is none, index 0.
No log is read here: what NCCL really chose is `explain`'s business.
"""

from __future__ import annotations

from fabricdoc.checks.ports import RocePort, cage_ports, roce_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Node
from fabricdoc.model.findings import Evidence, Finding

SHOWN_GIDS = 8


def check_gids(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning (gid-auto-selected-link-local) per active RoCE port without an IPv4 RoCE v2 GID.

    A warning: two equally bare ends on one cable still talk (RoCE v1, no QoS, no routing); one bare end
    fails. Ports whose table or GID types can't be read, and members of a bond or bridge, are left out.
    """
    return tuple(_finding(node, one) for node in fabric.nodes for one in roce_ports(node) if _is_bare(one))


def twin_with_address(node: Node, one: RocePort) -> RocePort | None:
    """The other HCA of the same cage where that one has the GID that this one lacks."""
    for cage, up in cage_ports(node):
        if one.hca.name in cage.hcas:
            return next((other for other in up if other.hca.name != one.hca.name and not _is_bare(other)), None)
    return None


def _is_bare(one: RocePort) -> bool:
    gids = one.port.gids
    if isinstance(gids, Unknown) or one.netdev.master is not None:
        return False
    return not any(gid.ipv4 and (isinstance(gid.type, Unknown) or gid.type == "RoCE v2") for gid in gids)


def _finding(node: Node, one: RocePort) -> Finding:
    gids = () if isinstance(one.port.gids, Unknown) else one.port.gids
    netdev, hca, twin = one.netdev.name, one.hca.name, twin_with_address(node, one)
    own = f" Its twin {twin.hca.name} has one, so of the cage's two links only that one is used well." if twin else ""
    return Finding(
        id="gid-auto-selected-link-local",
        severity="warning",
        subject=f"{node.name}/{hca}",
        evidence=(
            Evidence(file=node.name, text=f"{hca} port {one.port.number} ACTIVE, {netdev} {_addresses(one)}"),
            *(Evidence(file=node.name, text=_text(gid)) for gid in gids[:SHOWN_GIDS]),
        ),
        cause=f"{hca} is active but has no RoCE v2 GID for an IPv4 address, so NCCL's automatic choice stays on GID "
        "index 0 (link-local, usually RoCE v1): it can't be routed or prioritised, and connecting fails (errno 22, "
        "61 or 110) when the other end has an IPv4 GID." + own,
        fix=(
            f"give {netdev} an IPv4 address in a subnet of its own, shared with the port its cable leads to"
            + (f" (not that of {twin.netdev.name})" if twin else ""),
            f"or leave {hca} out of NCCL_IB_HCA on {node.name}",
        ),
    )


def _addresses(one: RocePort) -> str:
    found = [f"{address.ip}/{address.prefix}" for address in one.netdev.addresses if address.family == "ipv4"]
    return ", ".join(found) or "without an IPv4 address"


def _text(gid: Gid) -> str:
    kind = "type unknown" if isinstance(gid.type, Unknown) else gid.type
    return f"GID {gid.index} {gid.gid} {kind}"
