"""Whether the GID that NCCL takes by itself is the one that was meant: zeroconf addresses, VLANs.

The choice was worked out before (`Node.nccl_gids`). Ports without any IPv4 GID are `gids`', pins are `gid_pins`'.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import RocePort, netdevs_of, networks, roce_ports
from fabricdoc.checks.variables import variable, whole_number
from fabricdoc.checks.wording import of_nodes, plain, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Node
from fabricdoc.model.findings import Finding

ZEROCONF = "169.254."
PIN, DECIDED = "NCCL_IB_GID_INDEX", ("NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY")


def check_gid_choices(fabric: Fabric) -> tuple[Finding, ...]:
    """A zeroconf address taken before a real one, and a choice between the port and its VLANs."""
    return of_nodes(fabric, zeroconf_first, several_netdevs)


def candidates(node: Node) -> Iterator[tuple[RocePort, Gid, list[Gid]]]:
    """Each port with NCCL's choice and all its RoCE v2 IPv4 GIDs, where no variable decides otherwise."""
    pin = variable(node, PIN)
    if any(variable(node, name) for name in DECIDED) or (pin is not None and whole_number(pin.value) >= 0):
        return
    choices = {(one.hca, one.port): one.index for one in node.nccl_gids}
    for one in roce_ports(node):
        gids = () if isinstance(one.port.gids, Unknown) else one.port.gids
        good = [gid for gid in gids if gid.type == "RoCE v2" and gid.ipv4]
        index = choices.get((one.hca.name, one.port.number))
        chosen = next((gid for gid in good if gid.index == index), None)
        if chosen is not None:
            yield one, chosen, good


def zeroconf_first(node: Node) -> Iterator[Finding]:
    """A 169.254 address stands before a real one in the table, and NCCL takes the first."""
    for one, chosen, good in candidates(node):
        real = [gid for gid in good if not (gid.ipv4 or "").startswith(ZEROCONF)]
        if (chosen.ipv4 or "").startswith(ZEROCONF) and real:
            yield Finding(
                id="gid-choice-zeroconf",
                severity="warning",
                subject=f"{node.name}/{one.hca.name}",
                evidence=seen(node, f"NCCL takes {_text(chosen)}", *(f"and not {_text(gid)}" for gid in real[:8])),
                cause=f"{one.netdev.name} has a link-local IPv4 address beside its real one, and its GID comes first: "
                "NCCL takes that. It reaches only peers that chose the same kind.",
                fix=(
                    f"in netplan, for {one.netdev.name}: link-local: []",
                    f"or on {node.name}: export NCCL_IB_ADDR_RANGE={_network(node, real[0])}",
                ),
                confidence="likely",
            )


def several_netdevs(node: Node) -> Iterator[Finding]:
    """IPv4 GIDs of the port and of its VLANs in one table: information, which one NCCL takes."""
    for one, chosen, good in candidates(node):
        others = [gid for gid in good if isinstance(gid.netdev, str) and gid.netdev != chosen.netdev]
        if others:
            network = _network(node, others[0])
            yield Finding(
                id="gid-choice-among-vlans",
                severity="info",
                subject=f"{node.name}/{one.hca.name}",
                evidence=seen(node, f"NCCL takes {_text(chosen)}", *(f"and not {_text(gid)}" for gid in others[:8])),
                cause=f"The table of {one.hca.name} has GIDs of several interfaces (a VLAN on the port). NCCL takes "
                "the first RoCE v2 IPv4 one, tagged or not, on every node by itself.",
                fix=(f"where the other is meant, on every node: export NCCL_IB_ADDR_RANGE={network}",),
            )


def _network(node: Node, gid: Gid) -> str:
    """The network of a GID's address, the address alone where no interface has it."""
    found = (net for netdev in netdevs_of(node) for net, address in networks(netdev) if address.ip == gid.ipv4)
    return next(found, f"{gid.ipv4}/32")


def _text(gid: Gid) -> str:
    return f"GID {gid.index} {gid.ipv4} ({plain(gid.netdev)})"
